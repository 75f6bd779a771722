// The graph map: each entry as a strip of graphs with the breaks between them, and a card for each place that breaks.
// Runs in the editor's view and in the page of `graphmend-lsp check --format html`; it loads nothing and keeps nothing.

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Frame, GraphMap, Mend, Piece, Place, Program, Strip } from "./shape";
import {
  breakWords, codeParts, graphWords, many, nameOf, numbered, outsidesOf, outsideWords, percent, saving, stripTitle, stripWords, timesOf,
  timeWords, whereOf, widthOf,
} from "./words";

interface Source {
  readonly path: string;
  readonly line: number;
  readonly column?: number;
}

/** Where the map is shown. `open` goes to a place in the editor; without it the page offers links. */
interface Host {
  readonly open?: (source: Source) => void;
}

interface VsCode {
  postMessage(message: unknown): void;
}
declare function acquireVsCodeApi(): VsCode;

const SAFETY: Record<Mend["safety"], string> = { safe: "safe", unsafe: "unsafe", unverified: "not verified", wrong: "wrong" };

function Map_({ map, host }: { map: GraphMap; host: Host }) {
  const shown = new Set(map.programs.flatMap((program) => [...numbered(program.strips).keys()]));
  const others = map.places.filter((_, number) => !shown.has(number));
  const ran = map.torch === null ? "Nothing ran: this is what the source shows." : `torch ${map.torch} on ${map.device ?? "cpu"}`;
  return (
    <main>
      <header>
        <h1>Graph map</h1>
        <p class="quiet">{ran}</p>
        {map.mended !== null && <p class="mended"><Badge of={map.mended.safety} /> {map.mended.words}</p>}
        {map.errors.map((words) => <p class="error" role="alert">{words}</p>)}
        <Legend />
      </header>
      {map.programs.map((program) => <Entry key={`${program.path}:${program.name}`} {...{ program, map, host }} />)}
      {map.programs.length === 0 && <p>No entry ran, so there are no graphs to show.</p>}
      {others.length > 0 && (
        <details class="others">
          <summary>{many(others.length, "more place")} in the source, or met only without data</summary>
          <ol class="cards">{others.map((place) => <Card key={place} {...{ place, host }} />)}</ol>
        </details>
      )}
    </main>
  );
}

function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      <li><span class="swatch graph" aria-hidden="true" /> graph, with its operators</li>
      <li><span class="swatch break" aria-hidden="true" /> graph break: the program goes back to Python</li>
      <li><span class="swatch outside" aria-hidden="true" /> code that runs uncompiled</li>
      <li class="quiet">Arrow keys move, <kbd>N</kbd> goes to the next graph break, <kbd>Enter</kbd> shows it</li>
    </ul>
  );
}

function Entry({ program, map, host }: { program: Program; map: GraphMap; host: Host }) {
  const [chosen, choose] = useState<number | undefined>(undefined);
  const numbers = numbered(program.strips);
  const places = [...numbers].map(([index, number]) => ({ index, number, place: map.places[index] as Place }));
  const id = `entry-${map.programs.indexOf(program)}`;
  return (
    <section class="entry" aria-labelledby={id}>
      <h2 id={id}>{program.name}</h2>
      {program.strips.map((strip) => (
        <StripView key={stripTitle(strip)} {...{ strip, map, host, numbers, chosen, choose }} />
      ))}
      {places.length > 0 && (
        <ol class="cards" aria-label={`Graph breaks of ${program.name}`}>
          {places.map(({ index, number, place }) => (
            <Card
              key={index} {...{ place, host, number }} isChosen={chosen === index}
              times={timesOf(index, program.strips)} outsides={outsidesOf(index, program.strips)}
            />
          ))}
        </ol>
      )}
    </section>
  );
}

interface StripProps {
  readonly strip: Strip;
  readonly map: GraphMap;
  readonly host: Host;
  readonly numbers: ReadonlyMap<number, number>;
  readonly chosen: number | undefined;
  readonly choose: (place: number | undefined) => void;
}

/** One row of pieces. One of them is in the tab order; arrow keys move within the row. */
function StripView({ strip, map, host, numbers, chosen, choose }: StripProps) {
  const [current, setCurrent] = useState(0);
  const row = useRef<HTMLOListElement>(null);
  const title = stripTitle(strip);
  const last = strip.pieces.length - 1;
  const focus = (index: number): void => {
    const next = Math.min(Math.max(index, 0), last);
    setCurrent(next);
    row.current?.querySelectorAll("button")[next]?.focus();
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const isBreak = (index: number): boolean => strip.pieces[index]?.kind === "break";
    const indices = strip.pieces.map((_, index) => index).filter(isBreak);
    const to: Record<string, number | undefined> = {
      ArrowRight: current + 1, ArrowDown: current + 1, ArrowLeft: current - 1, ArrowUp: current - 1, Home: 0, End: last,
      n: indices.find((index) => index > current), p: indices.filter((index) => index < current).at(-1),
    };
    const next = to[event.key];
    if (!(event.key in to)) return;
    event.preventDefault();
    if (next !== undefined) focus(next);
  };
  let graphs = 0;
  const total = strip.pieces.filter((piece) => piece.kind === "graph").length;
  return (
    <div class={`strip ${strip.state}`}>
      <h3>{title}: <span class="quiet">{stripWords(strip)}</span></h3>
      {timeWords(strip) !== "" && <p class="quiet">{timeWords(strip)}</p>}
      {strip.note !== "" && <p class="quiet">{strip.note}</p>}
      {strip.error !== null && <p class="error">{strip.error}</p>}
      {!strip.in_order && <p class="quiet">The order of graphs and breaks is not known for this run.</p>}
      <ol class="pieces" ref={row} aria-label={`${title}: ${stripWords(strip)}`} onKeyDown={onKeyDown}>
        {strip.pieces.map((piece, index) => (
          <PieceView
            key={index}
            {...{ piece, map, numbers }}
            words={wordsOf(piece, map, numbers, piece.kind === "graph" ? ++graphs : 0, total)}
            inTabOrder={index === Math.min(current, last)}
            isChosen={piece.kind !== "graph" && piece.place === chosen}
            onFocus={() => setCurrent(index)}
            onClick={() => {
              choose(piece.kind === "graph" ? undefined : piece.place);
              const source = sourceOf(piece, map);
              if (source !== undefined) host.open?.(source);
            }}
          />
        ))}
      </ol>
    </div>
  );
}

function wordsOf(piece: Piece, map: GraphMap, numbers: ReadonlyMap<number, number>, number: number, total: number): string {
  if (piece.kind === "graph") return graphWords(piece, number, total);
  if (piece.kind === "outside") return outsideWords(piece);
  return breakWords(map.places[piece.place] as Place, numbers.get(piece.place) ?? 0);
}

function sourceOf(piece: Piece, map: GraphMap): Source | undefined {
  if (piece.kind !== "break") return piece.path === "" ? undefined : piece;
  const place = map.places[piece.place] as Place;
  return place.linked ? place : undefined;
}

interface PieceProps {
  readonly piece: Piece;
  readonly numbers: ReadonlyMap<number, number>;
  readonly words: string;
  readonly inTabOrder: boolean;
  readonly isChosen: boolean;
  readonly onFocus: () => void;
  readonly onClick: () => void;
}

function PieceView({ piece, numbers, words, inTabOrder, isChosen, onFocus, onClick }: PieceProps) {
  const style = piece.kind === "graph" ? { width: `${widthOf(piece.ops)}rem` } : {};
  return (
    <li class={piece.kind}>
      <button
        type="button" class={isChosen ? "piece chosen" : "piece"} style={style} title={words} aria-label={words}
        tabIndex={inTabOrder ? 0 : -1} {...{ onFocus, onClick }}
      >
        {piece.kind === "graph" && <>{piece.ops}{piece.share !== null && <small>{percent(piece.share)}</small>}</>}
        {piece.kind === "break" && numbers.get(piece.place)}
        {piece.kind === "outside" && piece.function.split(".").at(-1)}
      </button>
    </li>
  );
}

interface CardProps {
  readonly place: Place;
  readonly host: Host;
  readonly number?: number;
  readonly isChosen?: boolean;
  readonly times?: number;
  readonly outsides?: readonly string[];
}

function Card({ place, host, number, isChosen = false, times = 0, outsides = [] }: CardProps) {
  const card = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isChosen) card.current?.scrollIntoView({ block: "nearest" });
  }, [isChosen]);
  const facts = [
    place.state === "after" ? "stays after the mend" : "",
    place.evidence === "static" ? "found in the source; no run reached it" : place.evidence === "fake" ? "met in a run without data" : "",
    place.cost,
    times > 1 ? `met ${times} times` : "",
    ...outsides,
  ].filter((fact) => fact !== "");
  return (
    <li class={isChosen ? "card chosen" : "card"} ref={card} aria-current={isChosen ? "true" : undefined}>
      <h4>
        {number !== undefined && <span class="number"><span class="hidden">Graph break </span>{number}</span>}
        <PlaceLink source={place} {...{ host }} linked={place.linked} />
        {place.help === null ? <span class="code">{place.code}</span> : <a class="code" href={place.help}>{place.code}</a>}
      </h4>
      {place.text !== "" && <pre><code>{place.text}</code></pre>}
      <p><Words of={place.reason} /></p>
      {facts.length > 0 && <p class="quiet">{facts.join("; ")}</p>}
      {place.mends.length > 0 && (
        <ul class="mends" aria-label="Mends">
          {place.mends.map((mend) => (
            <li key={mend.title}><Badge of={mend.safety} /> <Words of={mend.title} />{[saving(mend), mend.why].filter(Boolean).map((words) => `; ${words}`)}</li>
          ))}
        </ul>
      )}
      {place.declined.length > 0 && (
        <details>
          <summary>{place.mends.length > 0 ? "Why other rules do not mend it" : "Why no rule mends it"}</summary>
          <ul>{place.declined.map((reason) => <li key={reason}><Words of={reason} /></li>)}</ul>
        </details>
      )}
      {place.chain.length > 0 && <Chain {...{ place, host }} />}
    </li>
  );
}

/** How the program came there: the user's own calls in sight, those through a library folded. */
function Chain({ place, host }: { place: Place; host: Host }) {
  const calls = place.chain.reduce((sum, group) => sum + group.frames.length, 0);
  if (calls < 2) return null;
  const list = (frames: readonly Frame[]) =>
    frames.map((frame, index) => (
      <li key={index}><code>{frame.function}</code> <PlaceLink source={frame} linked={place.linked} {...{ host }} /></li>
    ));
  return (
    <details>
      <summary>Reached through {many(calls, "call")}</summary>
      <ol class="chain">
        {place.chain.map((group, index) =>
          group.package === "" ? list(group.frames) : (
            <li key={index}>
              <details>
                <summary>{group.package}: {many(group.frames.length, "call")}</summary>
                <ol>{list(group.frames)}</ol>
              </details>
            </li>
          ),
        )}
      </ol>
    </details>
  );
}

/** A place in a file: goes there in the editor; in a page, a link that an editor opens, and the path to copy. */
function PlaceLink({ source, host, linked }: { source: Source; host: Host; linked: boolean }) {
  const [copied, setCopied] = useState(false);
  const { open } = host;
  const words = whereOf(source);
  const full = `${source.path}:${source.line}${source.column === undefined ? "" : `:${source.column}`}`;
  if (!linked || source.path === "") return <span class="place" title={full}>{words}</span>;
  if (open !== undefined) {
    return <button type="button" class="place link" title={full} onClick={() => open(source)}>{words}</button>;
  }
  return (
    <span class="place">
      <a href={editorLink(source)} title={`Open ${full} in VS Code`}>{words}</a>
      <button
        type="button" class="copy" title={`Copy ${full}`} aria-label={`Copy the path ${nameOf(full)}`}
        onClick={() => void copy(full).then(() => setCopied(true))} onBlur={() => setCopied(false)}
      >
        <span role="status">{copied ? "copied" : "copy"}</span>
      </button>
    </span>
  );
}

function Words({ of }: { of: string }) {
  return <>{codeParts(of).map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

function Badge({ of }: { of: Mend["safety"] | string | null }) {
  return of === null ? null : <span class={`badge ${of}`}>{SAFETY[of as Mend["safety"]]}</span>;
}

function editorLink({ path, line, column = 1 }: Source): string {
  const parts = path.replaceAll("\\", "/").split("/").map(encodeURIComponent).join("/");
  return `vscode://file/${parts.replace(/^\//, "")}:${line}:${column}`;
}

async function copy(words: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(words);
  } catch {
    const field = Object.assign(document.createElement("textarea"), { value: words });
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
}

function start(): void {
  const root = document.getElementById("graph-map");
  if (root === null) return;
  const show = (map: GraphMap, host: Host): void => render(<Map_ {...{ map, host }} />, root);
  const data = document.getElementById("graph-map-data");
  if (data !== null) {
    show(JSON.parse(data.textContent ?? "") as GraphMap, {});
    return;
  }
  const editor = acquireVsCodeApi();
  const host: Host = { open: ({ path, line, column }) => editor.postMessage({ kind: "open", path, line, column: column ?? 1 }) };
  window.addEventListener("message", (event: MessageEvent<{ map?: GraphMap }>) => {
    if (event.data.map !== undefined) show(event.data.map, host);
  });
  editor.postMessage({ kind: "ready" });
}

start();

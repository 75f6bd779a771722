// Where the server is looked for, case by case. A case says what there is on the machine and what must be started.

import assert from "node:assert/strict";
import { test } from "node:test";
import { environmentPython, findInterpreter, findRecentPython, findServer, startsAlike, type Host, type Launch, type Missing, type Probe } from "../src/launch";
import { readSettings, type Settings } from "../src/settings";

interface Machine {
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly trusted?: boolean;
  readonly files?: readonly string[];
  readonly path?: Readonly<Record<string, string>>;
  readonly pythons?: Readonly<Record<string, Partial<Probe> | Error>>;
  readonly active?: string;
  readonly env?: Readonly<Record<string, string>>;
}

interface Case extends Machine {
  readonly title: string;
  readonly starts?: string;
  readonly python?: string;
  readonly missing?: RegExp;
  readonly remedy?: string;
}

const VENV = "/home/ada/model/.venv/bin/python";
const WITH = { server: "0.1.0" };
const CONDA = "/conda/envs/train/bin/python";
const MANAGED = "/storage/environment/bin/python";

const CASES: readonly Case[] = [
  {
    title: "graphmend.path comes first and takes the arguments",
    settings: { path: ["/none/graphmend-lsp", "/opt/graphmend-lsp"], args: ["--verbose"] },
    files: ["/opt/graphmend-lsp"], path: { python3: "/usr/bin/python3" }, pythons: { "/usr/bin/python3": WITH },
    starts: "/opt/graphmend-lsp --verbose --stdio", python: "/usr/bin/python3",
  },
  {
    title: "a path that names nothing is said, not passed over",
    settings: { path: ["/none/graphmend-lsp"] }, path: { python3: "/usr/bin/python3" }, pythons: { "/usr/bin/python3": WITH },
    missing: /names no existing file: \/none\/graphmend-lsp/, remedy: "settings",
  },
  {
    title: "a relative path is never started",
    settings: { path: ["graphmend-lsp"] }, files: ["graphmend-lsp"], missing: /names no existing file/, remedy: "settings",
  },
  {
    title: "the interpreter of the setting wins over the Python extension",
    settings: { interpreter: [VENV] }, active: "/conda/bin/python", pythons: { [VENV]: WITH, "/conda/bin/python": WITH },
    starts: `${VENV} -m graphmend_lsp --stdio`, python: VENV,
  },
  {
    title: "an interpreter of the setting that does not start is said",
    settings: { interpreter: [VENV] }, files: [MANAGED], pythons: { [VENV]: new Error("no such file") },
    missing: /\.venv\/bin\/python .*does not start: no such file/, remedy: "settings",
  },
  {
    title: "the Python extension's environment wins over the PATH",
    active: VENV, path: { python3: "/usr/bin/python3" }, pythons: { [VENV]: WITH, "/usr/bin/python3": WITH },
    starts: `${VENV} -m graphmend_lsp --stdio`, python: VENV,
  },
  ...[".venv", "venv"].map((name) => ({
    title: `${name} of the folder wins over the PATH and over an active environment`,
    path: { python3: "/usr/bin/python3" }, files: [VENV.replace(".venv", name), CONDA], env: { CONDA_PREFIX: "/conda/envs/train" },
    pythons: { [VENV.replace(".venv", name)]: WITH },
    starts: `${VENV.replace(".venv", name)} -m graphmend_lsp --stdio`, python: VENV.replace(".venv", name),
  })),
  {
    title: "what the Python extension has active wins over .venv of the folder",
    active: CONDA, files: [VENV], pythons: { [CONDA]: WITH }, starts: `${CONDA} -m graphmend_lsp --stdio`, python: CONDA,
  },
  {
    title: "the conda environment in which the editor was started wins over the PATH",
    path: { python3: "/usr/bin/python3" }, files: [CONDA], env: { CONDA_PREFIX: "/conda/envs/train" }, pythons: { [CONDA]: WITH },
    starts: `${CONDA} -m graphmend_lsp --stdio`, python: CONDA,
  },
  {
    title: "without trust no environment of the folder is started, also not an active one",
    trusted: false, path: { python3: "/usr/bin/python3" }, files: [VENV], env: { VIRTUAL_ENV: "/home/ada/model/.venv" },
    pythons: { "/usr/bin/python3": WITH }, starts: "/usr/bin/python3 -m graphmend_lsp --stdio", python: "/usr/bin/python3",
  },
  {
    title: "the interpreter's own name for itself is started",
    path: { python3: "/shims/python3" }, pythons: { "/shims/python3": { ...WITH, executable: "/opt/py/bin/python3" } },
    starts: "/opt/py/bin/python3 -m graphmend_lsp --stdio", python: "/shims/python3",
  },
  {
    title: "without the server in the interpreter, the managed environment runs it and the model stays in the interpreter",
    active: VENV, pythons: { [VENV]: { server: null } }, files: [MANAGED],
    starts: `${MANAGED} -m graphmend_lsp --stdio`, python: VENV,
  },
  {
    title: "a Python that is too old runs the model at most",
    active: VENV, pythons: { [VENV]: { ...WITH, version: [3, 9, 18] } }, files: [MANAGED],
    starts: `${MANAGED} -m graphmend_lsp --stdio`, python: VENV,
  },
  {
    title: "Python 4 is not older than 3.10",
    active: VENV, pythons: { [VENV]: { ...WITH, version: [4, 0, 0] } }, starts: `${VENV} -m graphmend_lsp --stdio`, python: VENV,
  },
  {
    title: "the managed environment wins over graphmend-lsp on the PATH",
    path: { python3: "/usr/bin/python3", "graphmend-lsp": "/usr/bin/graphmend-lsp" }, files: [MANAGED],
    pythons: { "/usr/bin/python3": { server: null } }, starts: `${MANAGED} -m graphmend_lsp --stdio`,
  },
  {
    title: "graphmend-lsp on the PATH is found",
    path: { python3: "/usr/bin/python3", "graphmend-lsp": "/pipx/graphmend-lsp" }, pythons: { "/usr/bin/python3": { server: null } },
    starts: "/pipx/graphmend-lsp --stdio", python: "/usr/bin/python3",
  },
  {
    title: "useBundled does not ask the interpreter",
    settings: { importStrategy: "useBundled" }, active: VENV, pythons: { [VENV]: WITH }, files: [MANAGED],
    starts: `${MANAGED} -m graphmend_lsp --stdio`, python: VENV,
  },
  {
    title: "useBundled offers to create the environment",
    settings: { importStrategy: "useBundled" }, active: VENV, pythons: { [VENV]: WITH },
    missing: /does not exist yet/, remedy: "createEnvironment",
  },
  {
    title: "nothing at all: the environment is offered", missing: /Python was not found/, remedy: "createEnvironment",
  },
  {
    title: "no server anywhere: said of which Python",
    path: { python3: "/usr/bin/python3" }, pythons: { "/usr/bin/python3": { server: null } },
    missing: /not installed in \/usr\/bin\/python3/, remedy: "createEnvironment",
  },
  {
    title: "only an old Python: said so",
    path: { python3: "/usr/bin/python3" }, pythons: { "/usr/bin/python3": { ...WITH, version: [3, 8, 10] } },
    missing: /Python 3\.8\.10; the server needs 3\.10 or newer/, remedy: "createEnvironment",
  },
  {
    title: "without trust the Python extension is not asked",
    trusted: false, active: VENV, path: { python3: "/usr/bin/python3" }, pythons: { [VENV]: WITH, "/usr/bin/python3": WITH },
    starts: "/usr/bin/python3 -m graphmend_lsp --stdio", python: "/usr/bin/python3",
  },
  {
    title: "without trust a Python of the workspace on the PATH is not started",
    trusted: false, path: { python3: VENV, python: "/usr/bin/python" }, pythons: { [VENV]: WITH, "/usr/bin/python": WITH },
    starts: "/usr/bin/python -m graphmend_lsp --stdio", python: "/usr/bin/python",
  },
  {
    title: "without trust a setting cannot name a program of the workspace",
    trusted: false, settings: { interpreter: ["${workspaceFolder}/.venv/bin/python"], path: ["${workspaceFolder}/bin/graphmend-lsp"] },
    files: ["/home/ada/model/bin/graphmend-lsp"], pythons: { [VENV]: WITH }, missing: /names no existing file/, remedy: "settings",
  },
  {
    title: "without trust an interpreter setting inside the workspace is passed over",
    trusted: false, settings: { interpreter: ["${workspaceFolder}/.venv/bin/python"] }, path: { python3: "/usr/bin/python3" },
    pythons: { [VENV]: WITH, "/usr/bin/python3": WITH }, starts: "/usr/bin/python3 -m graphmend_lsp --stdio",
  },
  {
    title: "without trust graphmend-lsp of the workspace on the PATH is not started",
    trusted: false, path: { python3: "/usr/bin/python3", "graphmend-lsp": "/home/ada/model/bin/graphmend-lsp" },
    pythons: { "/usr/bin/python3": { server: null } }, missing: /not installed/, remedy: "createEnvironment",
  },
];

for (const each of CASES) {
  test(each.title, async () => {
    const found = await run(each);
    if (each.missing !== undefined) {
      assert.equal(found.kind, "missing");
      assert.match((found as Missing).message, each.missing);
      assert.equal((found as Missing).remedies[0], each.remedy);
    } else {
      assert.equal(found.kind, "found", JSON.stringify(found));
      assert.equal([(found as Launch).command, ...(found as Launch).args].join(" "), each.starts);
      if (each.python !== undefined) assert.equal(found.python, each.python);
    }
  });
}

test("each workspace folder has its own interpreter: the setting's, the one chosen for it, that of the PATH", async () => {
  const active = new Map([["/w/a", "/envs/a"], ["/w/b", "/envs/b"]]);
  const host: Host = {
    platform: "linux", exists: () => false, which: (name) => (name === "python3" ? "/usr/bin/python3" : undefined), managed: "/none",
    probe: () => assert.fail("none is started"), folders: () => ["/w/a", "/w/b", "/w/c"],
    activePython: async (folder) => active.get(folder ?? ""), env: {},
  };
  const variables = { home: "/", cwd: "/", folder: "/w/d", folders: [], env: {} };
  const [unset, set] = [{}, { interpreter: ["${workspaceFolder}/bin/python"] }].map((told: Record<string, unknown>) =>
    readSettings((key) => told[key], variables));
  assert.ok(unset !== undefined && set !== undefined);
  const found = async (settings: typeof set, folder?: string): Promise<string | undefined> =>
    (await findInterpreter(settings, true, host, folder))?.path;
  assert.deepEqual(
    [await found(unset, "/w/a"), await found(unset, "/w/b"), await found(unset, "/w/c"), await found(unset), await found(set, "/w/a")],
    ["/envs/a", "/envs/b", "/usr/bin/python3", "/envs/a", "/w/d/bin/python"],
  );
});

test("another interpreter for the model needs another server only when the server runs in it", async () => {
  const [one, two] = ["/envs/one/bin/python", "/envs/two/bin/python"];
  const launch = async (python: string, more: Partial<Machine>): Promise<Launch> => {
    const found = await run({ settings: { interpreter: [python] }, pythons: { [one]: WITH, [two]: WITH }, ...more });
    assert.ok(found.kind === "found");
    return found;
  };
  const outside = { pythons: { [one]: {}, [two]: {} }, files: [MANAGED] };
  assert.ok(!startsAlike(await launch(one, {}), await launch(two, {})));
  assert.ok(startsAlike(await launch(one, outside), await launch(two, outside)));
  assert.ok(startsAlike(await launch(one, {}), await launch(one, {})));
});

test("the server's own environment is made by the model's Python, else by a newer one of the PATH", async () => {
  const old: Partial<Probe> = { version: [3, 9, 1] };
  const path = { python3: "/usr/bin/python3" };
  const found = (machine: Machine): Promise<string | Error> => {
    const { settings, trusted, host } = world(machine);
    return findRecentPython(settings, trusted, host);
  };
  assert.equal(await found({ active: VENV, path, pythons: { [VENV]: {} } }), VENV);
  assert.equal(await found({ active: VENV, path, pythons: { [VENV]: old, "/usr/bin/python3": {} } }), "/usr/bin/python3");
  assert.equal(await found({ active: VENV, path, pythons: { [VENV]: new Error("broken"), "/usr/bin/python3": {} } }), "/usr/bin/python3");
  assert.match(String(await found({ active: VENV, path, pythons: { [VENV]: old, "/usr/bin/python3": old } })), /\.venv\/bin\/python is Python 3\.9\.1/);
  assert.match(String(await found({})), /no Python was found/);
});

test("the interpreter of an environment", () => {
  assert.equal(environmentPython("/e", "linux"), "/e/bin/python");
  assert.equal(environmentPython("C:\\e", "win32"), "C:\\e\\Scripts\\python.exe");
});

function run(machine: Machine): Promise<Launch | Missing> {
  const { settings, trusted, host } = world(machine);
  return findServer(settings, trusted, host);
}

function world(machine: Machine): { settings: Settings; trusted: boolean; host: Host } {
  const host: Host = {
    platform: "linux",
    exists: (file) => machine.files?.includes(file) ?? false,
    which: (name) => machine.path?.[name],
    probe: async (python) => {
      const answer = machine.pythons?.[python];
      assert.ok(answer !== undefined, `${python} must not be started`);
      return answer instanceof Error ? answer : { executable: python, version: [3, 11, 2], server: null, torch: true, ...answer };
    },
    activePython: async () => machine.active,
    managed: "/storage/environment",
    folders: () => ["/home/ada/model"],
    env: machine.env ?? {},
  };
  const variables = { home: "/home/u", cwd: "/", folder: "/home/ada/model", folders: [{ name: "work", path: "/home/ada/model" }], env: {} };
  return { settings: readSettings((key) => machine.settings?.[key], variables), trusted: machine.trusted ?? true, host };
}

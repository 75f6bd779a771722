"""Writes `before-and-after.md`: real mends of programs here, of transformers and of diffusers, run here, nothing trimmed.

    python docs/make_before_and_after.py [NAME]...

With names only these are run again; the others stay as they are on the page. Each run takes up to some minutes.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from graphmend_lsp.report.mend_parts import verdict_of
from graphmend_lsp.report.words import compared

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "before-and-after.md"
HEAD = """# Before and after

Real mends, as GraphMend writes them; nothing is trimmed. `docs/make_before_and_after.py` makes this page from real runs
(torch {torch}, transformers {transformers}, diffusers {diffusers}, CPU). A file of a package is mended where it is named;
`mend --overlay` mends a copy in your project. The support module `graphmend_support.py`, which some mends import, is written beside the program
and is not shown.
"""


@dataclass(frozen=True)
class Case:
    """A program and how it is mended. `module` is the module of an installed package that is mended instead of the program."""

    title: str
    program: str
    options: tuple[str, ...] = ()
    module: str = ""


_MODELS, _HF = "examples/transformers_models.py", "transformers.models"
CASES = {
    "gated_mlp": Case("A gated MLP: a branch on activations, a print", "examples/gated_mlp.py"),
    "training_step": Case("A step of training", "examples/training_step.py", ("--mode", "train")),
    "whitening": Case("A layer that torch.compile fails on", "examples/whitening.py"),
    "denoising_step": Case(
        "A step of diffusers' DDIM scheduler", "examples/denoising_step.py", (), "diffusers.schedulers.scheduling_ddim"
    ),
    "t5": Case("T5 of transformers", _MODELS, (), f"{_HF}.t5.modeling_t5"),
    "biogpt": Case("BioGPT of transformers", _MODELS, (), f"{_HF}.biogpt.modeling_biogpt"),
    "bart_fp16": Case("BART of transformers, in float16", _MODELS, (), f"{_HF}.bart.modeling_bart"),
}


def made(name: str, case: Case) -> str:
    """The section of one program."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "pyproject.toml").write_text("[tool.ruff]\nline-length = 100\n", "utf-8")
        program = work / Path(case.program).name
        program.write_text((ROOT / case.program).read_text("utf-8"), "utf-8")
        words = [sys.executable, "-m", "graphmend_lsp", "mend", "--json", "--quiet", *case.options]
        if case.module:
            file = importlib.util.find_spec(case.module)
            assert file is not None and file.origin is not None
            words += [file.origin, "--entry", f"{program.name}:{name}"]
        else:
            words.append(program.name)
        ran = subprocess.run(words, cwd=work, capture_output=True, text=True, check=False)
        if ran.returncode == 2 or not ran.stdout:
            raise SystemExit(f"{name}: {ran.stdout[-500:]}{ran.stderr[-2000:]}")
        record = json.loads(ran.stdout)
        if not record["edits"]:
            raise SystemExit(f"{name}: nothing was mended, so there is nothing to show.")
        return _section(name, case, record, work)


def _section(name: str, case: Case, record: dict[str, object], work: Path) -> str:
    before, after, verified, edits = (record[one] for one in ("before", "after", "verified", "edits"))
    assert isinstance(before, dict) and isinstance(after, dict) and isinstance(edits, list)
    shown = "".join(
        re.sub(r"^((?:---|\+\+\+) )[ab]/\S*?(?=(?:transformers/|diffusers/|[^/\s]+$))", r"\1", one["diff"], flags=re.M)
        for one in edits
        if not one["path"].endswith("graphmend_support.py")
    )
    applied = record["applied"]
    assert isinstance(applied, list)
    command = f"graphmend-lsp mend {case.module.replace('.', '/') + '.py' if case.module else Path(case.program).name}"
    command += "".join(f" {one}" for one in case.options)
    command += f" --entry {Path(case.program).name}:{name}" if case.module else ""
    lines = [f"<!-- {name} -->", f"## {case.title}", "", f"`{command}`", "", "```diff", shown.rstrip("\n"), "```", ""]
    lines += [
        f"* Line {one['line']}: {one['safety']}: {one['title'].removeprefix('Mend graph break: ')}" for one in applied
    ]
    cut = f"{before['breaks']} → {after['breaks']} breaks, {before['graphs']} → {after['graphs']} graphs"
    lines += ["", f"{cut}. {_verdict(verified)}", f"<!-- end of {name} -->", ""]
    return "\n".join(lines).replace(str(work), "")


def _verdict(verified: object) -> str:
    if not isinstance(verified, dict):
        return "Nothing was mended."
    assumed = [one["text"] for one in verified.get("assumes", [])]
    verdict = verdict_of(verified)
    assert verdict is not None
    return compared(verdict) + "".join(f" Assumes that {one}." for one in assumed)


def main() -> None:
    """Run the programs, or those named, and write the page."""
    import diffusers  # in no environment of the project: `pip install "diffusers<0.36"` beside it
    import torch
    import transformers

    old = PAGE.read_text("utf-8") if PAGE.exists() else ""
    sections = []
    for name, case in CASES.items():
        known = re.search(rf"<!-- {name} -->.*?<!-- end of {name} -->\n", old, re.S)
        if not sys.argv[1:] or name in sys.argv[1:]:
            sections.append(made(name, case))
        elif known is not None:
            sections.append(known[0])
    head = HEAD.format(torch=torch.__version__.split("+")[0], transformers=transformers.__version__, diffusers=diffusers.__version__)
    PAGE.write_text("\n".join([head, *sections]).rstrip() + "\n", "utf-8")


if __name__ == "__main__":
    main()

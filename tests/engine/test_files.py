"""Reading and writing sources byte for byte."""

from pathlib import Path

import pytest

from graphmend_lsp.engine.files import Sources, UnreadableSourceError, read_source, write_source


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a = 1",
        b"a = 1\r\nb = 2\rc = 3\n",
        b"\xef\xbb\xbfa = '\xc3\xa4'\r\n",
        b"# -*- coding: latin-1 -*-\na = '\xe4'\n",
        b"a = 1\x0c\n\tb = 2  \n",
    ],
)
def test_writing_back_what_was_read_changes_nothing(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(data)
    file.chmod(0o751)
    write_source(str(file), read_source(str(file)).text)
    assert file.read_bytes() == data
    assert file.stat().st_mode & 0o777 == 0o751
    assert [path.name for path in tmp_path.iterdir()] == ["a.py"]


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"a = '\xff\xfe'\n", "Python source"), (b"# coding: martian\n", "Python source"), (None, "No such file")],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, data: bytes | None, words: str) -> None:
    file = tmp_path / "a.py"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(UnreadableSourceError, match=words):
        read_source(str(file))
    assert Sources({}).get(str(file)) is None


def test_a_text_that_does_not_fit_the_encoding_leaves_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"# coding: ascii\n")
    with pytest.raises(UnreadableSourceError, match="ascii"):
        write_source(str(file), "# coding: ascii\nx = 'ä'\n")
    assert file.read_bytes() == b"# coding: ascii\n"


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("a = 1\n")
    (tmp_path / "link.py").symlink_to(tmp_path / "real.py")
    write_source(str(tmp_path / "link.py"), "a = 2\n")
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "real.py").read_text() == "a = 2\n"


def test_unsaved_texts_come_first(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("old\n")
    assert Sources({str(tmp_path / "a.py"): "new\n"}).get(str(tmp_path / "a.py")) == "new\n"

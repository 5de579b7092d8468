"""Settings of the documentation site: `cargo xtask book` builds it into target/book/html."""

import ast
import re
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = (ROOT / "Cargo.toml").read_text(encoding="utf-8")

project = "Stridewise"
version = release = re.search(r'(?m)^version = "([^"]+)"', MANIFEST)[1]
copyright = "the authors of Stridewise"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["requirements.txt", "*.py"]
# A reference that leads nowhere is a warning, and warnings are errors.
nitpicky = True
html_theme = "furo"
html_title = f"Stridewise {version}"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Types in signatures are those of the stubs, which have no pages.
nitpick_ignore_regex = [("py:.*", ".*")]


class Stub(Directive):
    """The functions and classes of a stub of the Python package, with their signatures: `{stub} linalg.pyi linalg`."""

    required_arguments = 2
    has_content = False

    def run(self):
        name, module = self.arguments
        path = ROOT / "ffi/python/python/stridewise" / name
        self.state.document.settings.env.note_dependency(str(path))
        lines = [f":::{{py:currentmodule}} {module}\n:::"]
        seen = set()
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            # Of overloads, the first.
            name = getattr(node, "name", "_")
            if name.startswith("_") or name in seen:
                continue
            seen.add(name)
            if isinstance(node, ast.FunctionDef):
                lines.append(f":::{{py:function}} {node.name}({ast.unparse(node.args)})\n:::")
            elif isinstance(node, ast.ClassDef):
                lines.append(f"::::{{py:class}} {node.name}")
                for member in node.body:
                    if isinstance(member, ast.FunctionDef) and not member.name.startswith("_"):
                        kind = "property" if any(isinstance(d, ast.Name) and d.id == "property" for d in member.decorator_list) else "method"
                        arguments = "" if kind == "property" else f"({ast.unparse(member.args)})"
                        lines.append(f":::{{py:{kind}}} {member.name}{arguments}\n:no-index:\n:::")
                lines.append("::::")
        text = StringList("\n\n".join(lines).splitlines(), source=str(path))
        container = nodes.container()
        self.state.nested_parse(text, 0, container)
        return container.children


class Document(Directive):
    """A document of the repository, without its heading: `{document} RELIABILITY.md`. Its links to files of the repository become the
    files' names; one to a file that is not there is a warning."""

    required_arguments = 1
    has_content = False

    def run(self):
        path = ROOT / self.arguments[0]
        self.state.document.settings.env.note_dependency(str(path))

        def link(match):
            label, target = match[1], match[2]
            if re.match(r"https?:", target):
                return match[0]
            place = target.partition("#")[0]
            if place and not (path.parent / place).exists():
                raise self.error(f"{path.name} links to {target}, which is not there")
            return label

        text = path.read_text(encoding="utf-8").partition("\n")[2]
        text = re.sub(r"(?<!!)\[([^]]*)\]\(([^)\s]+)\)", link, text)
        container = nodes.container()
        self.state.nested_parse(StringList(text.splitlines(), source=str(path)), 0, container, match_titles=True)
        return container.children


def shown(app, document, source):
    """Lines of Rust's examples that only its tests need begin with a number sign, and are not shown."""

    def block(match):
        return "".join(line for line in match[0].splitlines(keepends=True) if not re.match(r"#( |$)", line))

    source[0] = re.sub(r"(?ms)^```rust$.*?^```$", block, source[0])


def setup(app):
    app.connect("source-read", shown)
    app.add_directive("stub", Stub)
    app.add_directive("document", Document)
    return {"parallel_read_safe": True}

"""Applications made with frameworks for data pages. Each keeps a WebSocket open or reads a stream of events."""

import json

from applications_run import Application
from selenium.webdriver.common.by import By


class Framework(Application):
    """An application with a single file, `SOURCE`. A button makes the server show a number and the user."""

    SOURCE = BUTTON = None
    RESULT = "body"

    def write_source(self):
        (self.folder / "page.py").write_text(self.SOURCE.replace("PORT", str(self.server_port)))

    def use(self, visitor):
        visitor.find(self.BUTTON).click()
        visitor.sees(f"42 for {visitor.user.name}" if self.reads_user else "42", self.RESULT)


class Streamlit(Framework):
    name, distribution, deep_link = "Streamlit", "streamlit", "/?month=5"
    setting, reads_user = "`st.context.headers[\"Remote-User\"]`", True
    BUTTON = "[data-testid=stButton] button"
    SOURCE = """
import streamlit as st
st.title(f"Month {st.query_params['month']}")
if st.button("Show"):
    st.write(f"{6 * 7} for {st.context.headers['Remote-User']}")
file = st.file_uploader("A file")
if file:
    st.write(f"{len(file.getvalue())} bytes")
"""

    def start(self):
        self.write_source()
        self.spawn("streamlit", "run", "page.py", "--server.port", self.server_port, "--server.address", "127.0.0.1",
                   "--server.headless", "true", "--browser.gatherUsageStats", "false")

    def use(self, visitor):
        visitor.sees("Month 5")
        super().use(visitor)
        (self.folder / "file").write_bytes(b"x" * 5_000_000)
        visitor.browser.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys(str(self.folder / "file"))
        visitor.sees("5000000 bytes")


class Gradio(Framework):
    name, distribution, deep_link = "Gradio", "gradio", "/?__theme=dark"
    setting, reads_user = "`request.headers[\"remote-user\"]` of a `gr.Request`", True
    BUTTON, RESULT = "#show", "#result"
    SOURCE = """
import time
import gradio as gr

def show(request: gr.Request):
    # A stream of events.
    for part in ("42", "42 for", f"42 for {request.headers['remote-user']}"):
        time.sleep(0.2)
        yield part

with gr.Blocks() as page:
    result = gr.Markdown("-", elem_id="result")
    gr.Button("Show", elem_id="show").click(show, None, result)
page.launch(server_name="127.0.0.1", server_port=PORT)
"""

    def start(self):
        self.write_source()
        self.spawn("python", "page.py", GRADIO_ANALYTICS_ENABLED="False")


class Dash(Framework):
    name, distribution, deep_link = "Dash", "dash", "/?month=5"
    setting, reads_user = "`flask.request.headers[\"Remote-User\"]`", True
    BUTTON, RESULT = "#show", "#result"
    SOURCE = """
import dash, flask
app = dash.Dash()
app.layout = [dash.html.Button("Show", id="show"), dash.html.Div(id="result")]

@app.callback(dash.Output("result", "children"), dash.Input("show", "n_clicks"), prevent_initial_call=True)
def show(_):
    return f"42 for {flask.request.headers['Remote-User']}"

server = app.server
"""

    def start(self):
        self.write_source()
        self.spawn("gunicorn", "--bind", f"127.0.0.1:{self.server_port}", "page:server")


class Bokeh(Framework):
    name, distribution, deep_link = "Bokeh", "bokeh", "/page?month=5"
    setting, reads_user = "`curdoc().session_context.request.headers[\"Remote-User\"]`; `--allow-websocket-origin` has the host", True
    BUTTON = ".bk-btn"
    SOURCE = """
from bokeh.io import curdoc
from bokeh.models import Button, Column, Div
user = curdoc().session_context.request.headers.get("Remote-User")
button, result = Button(label="Show"), Div(text="-")
button.on_click(lambda: result.update(text=f"42 for {user}"))
curdoc().add_root(Column(button, result))
"""

    def start(self):
        self.write_source()
        self.spawn("bokeh", "serve", "page.py", "--port", self.server_port, "--address", "127.0.0.1",
                   "--allow-websocket-origin", "*")

    def use(self, visitor):
        press_in_shadow(visitor, "button", f"42 for {visitor.user.name}")


class Panel(Framework):
    name, distribution, deep_link = "Panel", "panel", "/page?month=5"
    setting, reads_user = "`pn.state.headers[\"Remote-User\"]`; `--allow-websocket-origin` has the host", True
    SOURCE = """
import panel as pn
pn.extension()
user, result = pn.state.headers.get("Remote-User"), pn.pane.Str("-")
button = pn.widgets.Button(name="Show", on_click=lambda _: setattr(result, "object", f"42 for {user}"))
pn.Column(button, result).servable()
"""

    def start(self):
        self.write_source()
        self.spawn("panel", "serve", "page.py", "--port", self.server_port, "--address", "127.0.0.1",
                   "--allow-websocket-origin", "*")

    use = Bokeh.use


# The script finds every element, also below shadow roots.
DEEP = """
const all = (root) => [...root.querySelectorAll("*")].flatMap((it) => [it, ...(it.shadowRoot ? all(it.shadowRoot) : [])]);
"""


def press_in_shadow(visitor, selector, expected):
    visitor.wait(selector, lambda: visitor.browser.execute_script(
        DEEP + "const it = all(document).find((it) => it.matches(arguments[0])); it?.click(); return !!it;", selector))
    visitor.wait(expected, lambda: visitor.browser.execute_script(
        DEEP + "return all(document).some((it) => it.textContent.includes(arguments[0]));", expected))


class Marimo(Framework):
    name, distribution, deep_link = "marimo", "marimo", "/?month=5"
    setting, reads_user = "`mo.app_meta().request.headers[\"remote-user\"]`", True
    SOURCE = """
import marimo
app = marimo.App()

@app.cell
def _():
    import marimo as mo
    button = mo.ui.run_button(label="Show")
    button
    return button, mo

@app.cell
def _(button, mo):
    mo.stop(not button.value)
    mo.md(f"42 for {mo.app_meta().request.headers['remote-user']}")
"""

    def start(self):
        self.write_source()
        self.spawn("marimo", "run", "page.py", "--headless", "--port", self.server_port, "--host", "127.0.0.1", "--no-token")

    def use(self, visitor):
        press_in_shadow(visitor, "marimo-button button, [data-testid=marimo-plugin-button]", f"42 for {visitor.user.name}")


class NiceGui(Framework):
    name, distribution, deep_link = "NiceGUI", "nicegui", "/?month=5"
    setting, reads_user = "`request.headers[\"remote-user\"]` of a page's `fastapi.Request`", True
    BUTTON = "button"
    SOURCE = """
from fastapi import Request
from nicegui import ui

@ui.page("/")
def page(request: Request):
    user, result = request.headers.get("remote-user"), ui.label("-")
    ui.button("Show", on_click=lambda: result.set_text(f"42 for {user}"))

ui.run(host="127.0.0.1", port=PORT, show=False, reload=False)
"""

    def start(self):
        self.write_source()
        self.spawn("python", "page.py")


class FastApi(Framework):
    name, distribution, deep_link = "FastAPI", "fastapi", "/report?month=5"
    setting, reads_user, decoding = "`Annotated[str, Header()]` named `remote_user`", True, "encoded"
    SOURCE = """
import asyncio
from typing import Annotated
from fastapi import FastAPI, Header, WebSocket
from fastapi.responses import HTMLResponse, StreamingResponse
app = FastAPI()

@app.get("/report", response_class=HTMLResponse)
def report(month: int):
    return f"<title>{month}</title><h1>Month {month}</h1>"

@app.get("/whoami")
def whoami(remote_user: Annotated[str, Header()]):
    return remote_user

@app.get("/events")
async def events():
    async def lines():
        for number in range(3):
            yield f"data: {number}\\n\\n"
            # Longer than the test waits.
            await asyncio.sleep(0 if number < 1 else 60)
    return StreamingResponse(lines(), media_type="text/event-stream")

@app.websocket("/ws")
async def socket(websocket: WebSocket):
    await websocket.accept()
    await websocket.send_text("42 for " + websocket.headers["remote-user"])
"""

    def start(self):
        self.write_source()
        self.spawn("uvicorn", "page:app", "--host", "127.0.0.1", "--port", self.server_port)

    def use(self, visitor):
        visitor.sees("Month 5")
        said = visitor.script("""
            const socket = new WebSocket(`wss://${location.host}/ws`);
            socket.onmessage = (it) => done(it.data);
            socket.onerror = () => done("refused");""")
        assert said == f"42 for {visitor.user.name}", said
        event = visitor.script("""
            const events = new EventSource("/events");
            const late = setTimeout(() => { events.close(); done("late"); }, 20000);
            events.onmessage = (it) => { if (it.data === "1") { clearTimeout(late); events.close(); done(it.data); } };
            events.onerror = () => done("refused");""")
        assert event == "1", event

    def name_of(self, program):
        return json.loads(program.request("/whoami")[1])


class Flask(Framework):
    name, distribution, deep_link = "Flask", "flask", "/report?month=5"
    setting, reads_user, decoding = "`request.headers[\"Remote-User\"]`", True, "encoded"
    SOURCE = """
import flask
app = flask.Flask(__name__)

@app.get("/report")
def report():
    return flask.render_template_string("<h1>{{ n }} for {{ user }}</h1>", n=flask.request.args["month"],
                                        user=flask.request.headers.get("Remote-User"))

@app.get("/whoami")
def whoami():
    return flask.jsonify(flask.request.headers["Remote-User"])
"""

    def start(self):
        self.write_source()
        self.spawn("gunicorn", "--bind", f"127.0.0.1:{self.server_port}", "page:app")

    def use(self, visitor):
        visitor.sees(f"5 for {visitor.user.name}")

    name_of = FastApi.name_of

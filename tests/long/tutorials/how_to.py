"""Follows the guides of docs/how-to as they are written, while a program is already serving."""

import email
import re
import socketserver
import threading
from email import policy

from blocks import Block
from stage import Stage

ADA = """curl -sSf -o /dev/null http://127.0.0.1:8000/register -H 'Content-Type: application/json' \\
  -d '{"username":"ada","password":"open sesame"}'"""
ADMIN = """ID=2 TOKEN=$(curl -sSf http://127.0.0.1:8000/login -H 'Content-Type: application/json' \\
  -d '{"username":"admin","password":"'"$(cat data/initial-admin-password)"'"}' |
  sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')"""
SIGN_IN = """curl -sSf -o /dev/null http://127.0.0.1:8000/login -H 'Content-Type: application/json' \\
  -d '{"username":"ada","password":"open sesame"}'"""
BROWSER = """const stored = {}, localStorage = { setItem: (name, value) => (stored[name] = value) };
const refused = await signIn("ada", "wrong").catch((error) => error.message);
await signIn("ada", "open sesame");
console.log(refused, stored.token);"""


def check():
    with guide("log-in-from-a-page") as stage:
        given(stage, ADA)
        (sign_in,) = [block.text for block in stage.blocks if "signIn" in block.text]
        (stage.folder / "sign-in.mjs").write_text(sign_in + BROWSER)
        stage.terminals["first"].type("node sign-in.mjs", "Invalid username or password. rgs_…")
        stage.type()
    with guide("keep-users-signed-in") as stage:
        given(stage, ADA)
        stage.type(until="SESSION_IDLE_SECONDS")
        lifetimes = stage.blocks.pop(0).text
        stage.type()
        stage.kill("server")
        serve(stage, lifetimes)
    with guide("service-account") as stage:
        given(stage, ADMIN)
        stage.type()
    with guide("roles", 8002) as stage:
        given(stage, ADA)
        stage.kill("server")
        setting = stage.blocks.pop(0).text.strip()
        serve(stage, f"{setting} rolegate")
        given(stage, f"""export {setting}
rolegate user set-role ada editor
curl -sf -o /dev/null 'http://127.0.0.1:8002/authorize?roles=editor,admin' -u 'ada:open sesame'
rolegate user list --role editor | grep ada""")
    with guide("give-access-until-friday", 8002) as stage:
        stage.type()
    with guide("send-the-link-yourself", 2525) as stage, MailServer(stage.ports[2525]) as mail:
        stage.kill("server")
        serve(stage, f"{stage.blocks.pop(0).text.strip()} rolegate")
        given(stage, ADMIN)
        stage.type()
        (message,) = mail.messages
        text = message.get_content()
        assert "Your username is ada\n" in text, text
        assert "\nhttps://auth.example.org/sign-in?username=ada\n" in text, text
        token = re.search("https://auth.example.org/set-password#(rgl_.{43})", text)[1]
        given(stage, f"""curl -sSf -o /dev/null -X PUT http://127.0.0.1:8000/password \\
  -H 'Content-Type: application/json' -d '{{"token":"{token}","password":"open sesame"}}'
{SIGN_IN}""")


class guide(Stage):
    """A guide whose program serves in a terminal that the page does not name."""

    def __init__(self, name, *ports):
        super().__init__(f"how-to/{name}.md", 8000, *ports)

    def __enter__(self):
        super().__enter__()
        serve(self, "rolegate")
        return self


class MailServer(socketserver.ThreadingTCPServer):
    """A mail server that keeps the messages that it gets."""

    def __init__(self, port):
        super().__init__(("127.0.0.1", port), MailHandler)
        self.messages = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class MailHandler(socketserver.StreamRequestHandler):
    """Speaks as much SMTP as a client needs."""

    def handle(self):
        self.wfile.write(b"220 mail\r\n")
        while line := self.rfile.readline():
            command = line.strip().upper()
            if command == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                # The client has doubled each dot at the beginning of a line.
                lines = iter(self.rfile.readline, b".\r\n")
                message = b"".join(line.removeprefix(b".").replace(b"\r\n", b"\n") for line in lines)
                self.server.messages.append(email.message_from_bytes(message, policy=policy.default))
            self.wfile.write(b"221 bye\r\n" if command == b"QUIT" else b"250 yes\r\n")


def serve(stage, command):
    terminal = stage.terminals.get("server") or stage.open("server")
    terminal.start(command, "Ctrl-C stops")


def given(stage, commands):
    """Types commands that the guide takes for granted."""
    stage.enter(Block("sh", stage.with_ports(commands) + "\n", ""))

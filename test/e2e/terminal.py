"""A command on a terminal of a given width, and what it showed.

    terminal.py COLUMNS SECONDS COMMAND...

Sends ctrl-C after SECONDS (0: never), and with SECONDS+MORE again after these.
Prints the widest live line, then
everything that was shown, and exits as the command did."""
import fcntl, os, pty, select, struct, sys, termios, time

columns, waits = int(sys.argv[1]), [float(s) for s in sys.argv[2].split("+")]
pid, fd = pty.fork()
if not pid:
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execvp(sys.argv[3], sys.argv[3:])
shown, begin = b"", time.time()
while True:
    ready, _, _ = select.select([fd], [], [], 0.01)
    if waits and waits[0] and time.time() - begin > waits[0]:
        os.write(fd, b"\x03")
        waits, begin = waits[1:], time.time()
    try:
        part = os.read(fd, 65536) if ready else b"-"
    except OSError:
        part = b""
    if not part:
        break
    shown += part if ready else b""
lines = [l for l in shown.split(b"\r\x1b[K") if b"\n" not in l]
print("widest", max([len(l.decode()) for l in lines], default=0), "of", len(lines))
print(shown.decode().replace("\r", "\n"))
status = os.waitpid(pid, 0)[1]
sys.exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status))

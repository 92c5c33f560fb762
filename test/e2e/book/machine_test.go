package book

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"fairlead.dev/test/cluster"
	"fairlead.dev/test/process"
)

const (
	hubUnit   = "fairlead-hub"
	agentUnit = "fairlead-agent"
	// stopGrace is how long a unit may take to stop, on a machine that does other work too.
	stopGrace = time.Minute
	// pageTimeout is how long a page may take on such a machine.
	pageTimeout = 5 * time.Minute
)

// machine is a directory that replaces the hub's machine and others in the pages.
type machine struct {
	t    *testing.T
	root string
	// names are the replacements in pages.
	names *strings.Replacer

	control net.Listener
	mu      sync.Mutex
	units   map[string]*process.Process
}

// paths matches the directories that are replaced by ones below root.
var paths = regexp.MustCompile(`(^|[\s"'=(])(/(?:backup|etc|usr/local/bin|var/lib/fairlead))\b`)

// newMachine creates a machine with the built programs in the reader's working directory.
func newMachine(t *testing.T, names ...string) *machine {
	t.Helper()
	g := NewWithT(t)
	root, err := os.MkdirTemp("/tmp", "fairlead-book-") //nolint:usetesting // programs that were killed may write for a moment yet
	g.Expect(err).NotTo(HaveOccurred())
	m := &machine{t: t, root: root, names: strings.NewReplacer(names...), units: map[string]*process.Process{}}
	m.control, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	go m.serve()
	t.Cleanup(func() {
		_ = m.control.Close()
		m.mu.Lock()
		defer m.mu.Unlock()
		for name, unit := range m.units {
			delete(m.units, name)
			unit.Kill()
		}
		g.Expect(process.Remove(root)).To(Succeed())
	})
	for _, dir := range []string{m.home(), m.path("/etc/systemd/system"), m.path("/usr/local/bin"), m.path("/shims"), m.path("/vault"), filepath.Join(m.home(), "new")} {
		g.Expect(os.MkdirAll(dir, 0o700)).To(Succeed())
	}
	for _, program := range []string{"hub", "controlplane", "agent"} {
		built, err := cluster.Executable(program)
		g.Expect(err).NotTo(HaveOccurred())
		for _, dir := range []string{m.home(), filepath.Join(m.home(), "new")} {
			g.Expect(os.Symlink(built, filepath.Join(dir, program))).To(Succeed())
		}
	}
	top, err := cluster.Root()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.Symlink(filepath.Join(top, "manifests", "install", "systemd"), filepath.Join(m.home(), "systemd"))).To(Succeed())
	m.writeShims(filepath.Join(top, "bin"))
	return m
}

// home is the working directory of a page's commands; path returns the replacement of a machine's path.
func (m *machine) home() string            { return filepath.Join(m.root, "root") }
func (m *machine) path(path string) string { return filepath.Join(m.root, path) }

// writeShims writes the programs that replace those of a machine.
func (m *machine) writeShims(bin string) {
	m.t.Helper()
	_, port, err := net.SplitHostPort(m.control.Addr().String())
	NewWithT(m.t).Expect(err).NotTo(HaveOccurred())
	defaults := func(program, flag, dir string) string {
		return fmt.Sprintf(`for a in "$@"; do case "$a" in --%[2]s*|--scratch-dir*) exec %[1]s "$@";; esac; done
case "$1 $2" in "backup keygen"|"backup verify"|"backup newest"|"operators "*) exec %[1]s "$@";; esac
exec %[1]s "$@" --%[2]s %[3]s`, m.path("/usr/local/bin/"+program), flag, m.path(dir))
	}
	for name, text := range map[string]string{
		"hub":       defaults("hub", "data-dir", "/var/lib/fairlead"),
		"agent":     defaults("agent", "state-dir", "/var/lib/fairlead/agent"),
		"kubectl":   fmt.Sprintf(`exec %s "$@"`, filepath.Join(bin, "kubectl")),
		"systemctl": fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%s\necho \"$*\" >&3\nread -r answer <&3\n[ -z \"$answer\" ] || { echo \"systemctl: $answer\" >&2; exit 1; }", port),
		"sudo":      `[ "$1" = -u ] && [ "$2" = fairlead ] || exit 1; shift 2; exec "$@"`,
		"useradd":   `[ "${!#}" = fairlead ]`,
		"install":   `args=(); while [ $# -gt 0 ]; do case "$1" in -o|-g) shift;; *) args+=("$1");; esac; shift; done; exec /usr/bin/install "${args[@]}"`,
		"ssh":       fmt.Sprintf(`cd "%s/$1" && shift && exec bash -euc "$*"`, m.root),
		"scp":       fmt.Sprintf(`exec cp -p "$1" "%s/${2%%:}"`, m.root),
		"sleep":     `exec /bin/sleep 1`,
	} {
		NewWithT(m.t).Expect(os.WriteFile(m.path("/shims/"+name), []byte("#!/bin/bash\n"+text+"\n"), 0o700)).To(Succeed())
	}
}

// run runs the blocks of a page.
func (m *machine) run(t *testing.T, page string, blocks []block) {
	t.Helper()
	g := NewWithT(t)
	text := paths.ReplaceAllString(m.names.Replace(script(blocks)), "${1}"+m.root+"${2}")
	file := m.path("/" + page + ".sh")
	g.Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	ctx, cancel := context.WithTimeout(t.Context(), pageTimeout)
	defer cancel()
	shell := exec.CommandContext(ctx, "bash", "-euxo", "pipefail", file)
	shell.Dir = m.home()
	shell.Env = slices.Concat(os.Environ(), []string{
		"PATH=" + m.path("/shims") + ":" + m.path("/usr/local/bin") + ":" + os.Getenv("PATH"),
		"HOME=" + m.home(), "KUBECONFIG=" + m.path("/var/lib/fairlead/admin.kubeconfig"), `PS4=+ ` + page + `:$LINENO: `,
	})
	// Its own process group, so that processes started by the shell can be killed with it.
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	shell.Cancel = func() error { return syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%s does not work as it is written: %v\n%s\n%s", page, err, last(string(out)), process.Tail(m.log(hubUnit), m.log(agentUnit)))
	}
}

// last returns the end of a long text.
func last(text string) string {
	const enough = 6000
	return text[max(0, len(text)-enough):]
}

func (m *machine) log(unit string) string { return m.path("/" + unit + ".log") }

// serve executes requests of the systemctl shim, and answers with an error or an empty line.
func (m *machine) serve() {
	for {
		conn, err := m.control.Accept()
		if err != nil {
			return // it is closed
		}
		line, _ := bufio.NewReader(conn).ReadString('\n')
		answer := ""
		if err := m.systemctl(strings.Fields(line)); err != nil {
			answer = strings.ReplaceAll(err.Error(), "\n", " ")
		}
		_, _ = fmt.Fprintln(conn, answer)
		_ = conn.Close()
	}
}

func (m *machine) systemctl(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("nothing is asked for")
	}
	verb, units := args[0], slices.DeleteFunc(slices.Clone(args[1:]), func(arg string) bool { return arg == "--now" })
	for _, unit := range units {
		if verb == "stop" || verb == "restart" || verb == "disable" {
			m.stop(unit)
		}
		if verb == "start" || verb == "restart" || verb == "enable" {
			if err := m.start(unit); err != nil {
				return err
			}
		}
	}
	if !slices.Contains([]string{"start", "stop", "restart", "enable", "disable", "daemon-reload"}, verb) {
		return fmt.Errorf("the test's systemctl has no %s", verb)
	}
	return nil
}

// further has flags that move units to ports other than the machine's.
var further = map[string][]string{
	hubUnit: {"--bind-address", "127.0.0.1", "--secure-port", "0", "--metrics-bind-address", "0", "--dashboard-bind-address", "0"},
}

func (m *machine) start(unit string) error {
	words, err := command(m.path("/etc/systemd/system"), unit)
	if err != nil {
		return err
	}
	for i, word := range words {
		words[i] = paths.ReplaceAllString(word, "${1}"+m.root+"${2}")
	}
	p, err := process.Start(process.Spec{Executable: words[0], Args: append(words[1:], further[unit]...), Log: m.log(unit)})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.units[unit] = p
	go m.restart(unit, p)
	return nil
}

// restart restarts a unit that exited by itself, as its Restart= says: a dependency may not have been ready in time.
func (m *machine) restart(unit string, p *process.Process) {
	<-p.Done()
	m.mu.Lock()
	ended := m.units[unit] == p
	m.mu.Unlock()
	if ended {
		_ = m.start(unit) // its log is printed if a page fails
	}
}

func (m *machine) stop(unit string) {
	m.mu.Lock()
	p := m.units[unit]
	delete(m.units, unit)
	m.mu.Unlock()
	if p == nil {
		return
	}
	_ = syscall.Kill(p.PID(), syscall.SIGTERM)
	select {
	case <-p.Done():
	case <-time.After(stopGrace):
		p.Kill()
	}
}

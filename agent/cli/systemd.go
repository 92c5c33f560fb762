package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/agent/install/manifest"
)

// proxySettings returns which proxy this process uses: an agent that is started by something else has to be told as well.
func proxySettings() map[string]string {
	out := map[string]string{}
	for _, name := range manifest.ProxyVariables() {
		for _, spelt := range []string{name, strings.ToLower(name)} {
			if value := os.Getenv(spelt); value != "" {
				out[name] = value
				break
			}
		}
	}
	return out
}

// printUnit prints a unit of systemd that keeps the agent running. It runs with what `agent
// join` left in the state directory.
func printUnit(out io.Writer, from *joinCommand) error {
	f := *from
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	for _, path := range []*string{&f.member.kubeconfig, &f.join.stateDir, &f.journalKey} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return fmt.Errorf("resolving %q: %w", *path, err)
		}
	}
	var unit strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&unit, format+"\n", args...) }
	line("# /etc/systemd/system/fairlead-agent.service; then: systemctl daemon-reload && systemctl enable --now fairlead-agent")
	line("[Unit]")
	line("Description=Fairlead agent: makes this cluster do what its hub says")
	line("Wants=network-online.target")
	line("After=network-online.target")
	line("")
	line("[Service]")
	line("ExecStart=%s run%s --state-dir %s%s", escaped(program), escaped(f.member.typed()), escaped(f.join.stateDir), escaped(f.typed()))
	if f.member.kubeconfig == "" {
		// The unit has no home, where the kubeconfig of this user is.
		if path := defaultKubeconfig(); path != "" {
			line("Environment=KUBECONFIG=%s", escaped(path))
		}
	}
	settings := proxySettings()
	for _, name := range manifest.ProxyVariables() {
		if settings[name] != "" {
			line("Environment=\"%s=%s\"", name, escaped(settings[name]))
		}
	}
	// It ends by itself only when the hub has retired the cluster.
	line("Restart=on-failure")
	line("RestartSec=5")
	line("NoNewPrivileges=yes")
	line("ProtectSystem=strict")
	line("PrivateTmp=yes")
	line("ReadWritePaths=%s", escaped(f.join.stateDir))
	line("")
	line("[Install]")
	line("WantedBy=multi-user.target")
	_, err = io.WriteString(out, unit.String())
	return err
}

// escaped returns a text in which systemd finds nothing to expand.
func escaped(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// defaultKubeconfig is where the kubeconfig of this user is; empty if there is none.
func defaultKubeconfig() string {
	if listed := os.Getenv("KUBECONFIG"); listed != "" {
		return listed
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	path := filepath.Join(home, ".kube", "config")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

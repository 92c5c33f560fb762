package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"fairlead.dev/agent/install/manifest"
)

// proxySettings returns the proxy variables of this process: an agent that something else starts has to be given them
// too.
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

// printUnit prints a systemd unit that keeps the agent running, with what `agent join` left in the state directory.
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
	line("Description=Fairlead agent: applies to this cluster what its hub sends")
	line("Wants=network-online.target")
	line("After=network-online.target")
	line("")
	line("[Service]")
	line("ExecStart=%s run%s --state-dir %s%s", escaped(program), escaped(f.member.typed()), escaped(f.join.stateDir), escaped(f.typed()))
	if f.member.kubeconfig == "" {
		// The unit has no $HOME in which to find this user's kubeconfig.
		path, err := defaultKubeconfig()
		if err != nil {
			return err
		}
		if path != "" {
			line("Environment=\"KUBECONFIG=%s\"", escaped(path))
		}
	}
	settings := proxySettings()
	for _, name := range manifest.ProxyVariables() {
		if settings[name] != "" {
			line("Environment=\"%s=%s\"", name, escaped(settings[name]))
		}
	}
	// The agent exits successfully only when the hub has retired the cluster.
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

// escaped protects a text from systemd's specifier expansion.
func escaped(s string) string { return strings.ReplaceAll(s, "%", "%%") }

// defaultKubeconfig returns the path of this user's kubeconfig, or the list of paths in $KUBECONFIG, each as a whole path: a unit starts in another
// directory. It is empty if there is none.
func defaultKubeconfig() (string, error) {
	if listed := os.Getenv("KUBECONFIG"); listed != "" {
		paths := filepath.SplitList(listed)
		for i, path := range paths {
			if path == "" {
				continue
			}
			whole, err := filepath.Abs(path)
			if err != nil {
				return "", fmt.Errorf("resolving %q of $KUBECONFIG: %w", path, err)
			}
			paths[i] = whole
		}
		return strings.Join(paths, string(filepath.ListSeparator)), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", nil //nolint:nilerr // there is none
	}
	path := filepath.Join(home, ".kube", "config")
	if _, err := os.Stat(path); err != nil {
		return "", nil //nolint:nilerr // As above.
	}
	return path, nil
}

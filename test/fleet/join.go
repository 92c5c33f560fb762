package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// upAgent starts the agent of a member, which joins with a token the first time.
func (f *Fleet) upAgent(ctx context.Context, member string) error {
	s := f.agent(member)
	if _, err := os.Stat(filepath.Join(f.StateDir(member), "hub.kubeconfig")); errors.Is(err, fs.ErrNotExist) {
		flags, err := f.CreateToken(ctx, member)
		if err != nil {
			return err
		}
		// The token is passed in a file, because other users of this machine can see a program's arguments.
		at := slices.Index(flags, "--token")
		file := filepath.Join(f.Dir, member+".token")
		if at < 0 || at+1 == len(flags) {
			return errors.New("`hub token create` printed no --token")
		}
		if err := os.WriteFile(file, []byte(flags[at+1]), 0o600); err != nil {
			return fmt.Errorf("keeping the token of %q: %w", member, err)
		}
		s.args = append(s.args, slices.Concat(flags[:at], []string{"--token-file", file}, flags[at+2:])...)
	}
	return f.up(ctx, s)
}

func (f *Fleet) agent(member string) service {
	return service{
		name: AgentName(member), program: "agent", timeout: joinTimeout,
		args:  append([]string{"run", "--kubeconfig", f.Kubeconfig(member), "--state-dir", f.StateDir(member)}, f.AgentArgs...),
		ready: func(ctx context.Context) error { return f.ClusterReady(ctx, member) },
	}
}

// StateDir returns the state directory of the agent of a member.
func (f *Fleet) StateDir(member string) string { return filepath.Join(f.Dir, AgentName(member)) }

// StartAgent starts the agent of a member that has joined. It does not wait, because the hub may be away.
func (f *Fleet) StartAgent(member string) error { return f.start(f.agent(member)) }

// CreateToken creates a token for a member and returns the arguments of the printed command after "agent join".
func (f *Fleet) CreateToken(ctx context.Context, member string, flags ...string) ([]string, error) {
	args := append([]string{"token", "create", "--kubeconfig", f.Kubeconfig(HubName), "--cluster", member}, flags...)
	out, err := f.Run(ctx, "hub", args...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		if _, rest, ok := strings.Cut(line, "agent join "); ok {
			return strings.Fields(rest), nil
		}
	}
	return nil, errors.New("`hub token create` printed no `agent join` command")
}

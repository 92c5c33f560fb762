package fleet

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// upAgent starts the agent of a member, which joins with a token the first time.
func (f *Fleet) upAgent(ctx context.Context, member string) error {
	name := AgentName(member)
	dir := filepath.Join(f.Dir, name)
	args := append([]string{"run", "--kubeconfig", f.Kubeconfig(member), "--state-dir", dir}, f.AgentArgs...)
	if _, err := os.Stat(filepath.Join(dir, "hub.kubeconfig")); errors.Is(err, fs.ErrNotExist) {
		flags, err := f.CreateToken(ctx, member)
		if err != nil {
			return err
		}
		args = append(args, flags...)
	}
	return f.up(ctx, service{
		name: name, program: "agent", args: args, timeout: joinTimeout,
		ready: func(ctx context.Context) error { return f.clusterReady(ctx, member) },
	})
}

// CreateToken makes a token for a member and returns the arguments of the command that it
// printed, after "agent join".
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

package fleet

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Run runs one of the built programs to its end and returns its standard output. The error contains its standard error.
func (f *Fleet) Run(ctx context.Context, program string, args ...string) (string, error) {
	var out, diagnosis bytes.Buffer
	cmd := exec.CommandContext(ctx, f.Program(program), args...)
	cmd.Stdout, cmd.Stderr = &out, &diagnosis
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s", program, args[0], err, strings.TrimSpace(diagnosis.String()))
	}
	return out.String(), nil
}

// Kubectl runs kubectl as administrator of the hub or a member.
func (f *Fleet) Kubectl(ctx context.Context, name string, args ...string) (string, error) {
	return f.Run(ctx, "kubectl", append([]string{"--kubeconfig", f.Kubeconfig(name)}, args...)...)
}

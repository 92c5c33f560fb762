package cli

import (
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/agent/access/rules"
)

// TestTheCommandThatIsAdvisedIsSafeInAShell runs it in one, with a kubectl that shows its arguments.
func TestTheCommandThatIsAdvisedIsSafeInAShell(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lists rules.Lists
		want  []string
	}{
		"a group": {
			lists: rules.Lists{Operators: []string{"group:ops"}, In: []string{"shop"}},
			want:  []string{"create", "rolebinding", "fairlead-operators", "-n", "shop", "--clusterrole=view", "--group=fairlead:ops"},
		},
		"a name with spaces":        {lists: rules.Lists{Operators: []string{"group:Domain  Admins"}}, want: []string{"create", "clusterrolebinding", "fairlead-operators", "--clusterrole=view", "--group=fairlead:Domain  Admins"}},
		"a name that would run":     {lists: rules.Lists{Operators: []string{"user:$(echo ran)`echo ran`$HOME"}}, want: []string{"create", "clusterrolebinding", "fairlead-operators", "--clusterrole=view", "--user=fairlead:$(echo ran)`echo ran`$HOME"}},
		"a name with an apostrophe": {lists: rules.Lists{Operators: []string{"user:o'neil;!*"}}, want: []string{"create", "clusterrolebinding", "fairlead-operators", "--clusterrole=view", "--user=fairlead:o'neil;!*"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			r, err := rules.New(tc.lists)
			g.Expect(err).NotTo(HaveOccurred())
			out, err := exec.CommandContext(t.Context(), "sh", "-c", `kubectl() { printf '%s\n' "$@"; }; `+grantCommand(r)).CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), string(out))
			g.Expect(strings.Split(strings.TrimSpace(string(out)), "\n")).To(Equal(tc.want))
		})
	}
}

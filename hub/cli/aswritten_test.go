package cli

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"
)

func TestLogsSteerNoTerminal(t *testing.T) {
	t.Parallel()
	const line = "\x1b[2J\x1b]0;pwned\x07ready\n"
	for name, tc := range map[string]struct {
		terminal, color bool
		want            string
	}{
		"a terminal in colour":     {terminal: true, color: true, want: `\x1b[2J\x1b]0;pwned\x07ready` + "\n"},
		"a terminal with NO_COLOR": {terminal: true, want: `\x1b[2J\x1b]0;pwned\x07ready` + "\n"},
		"a pipe":                   {want: line},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var out, problems bytes.Buffer
			env := Environment{Out: &out, Err: &problems, Terminal: tc.terminal, Color: tc.color}.harmless()
			_, err := env.asWritten().Write([]byte(line))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out.String()).To(Equal(tc.want))
		})
	}
}

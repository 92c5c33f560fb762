package table

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	table := Table{
		Columns: []Column{{Name: "NAME"}, {Name: "STATE"}, {Name: "NOTE", Wide: true}, {Name: "WHY", Cut: 8}},
		Rows: [][]Cell{
			{{Text: "a"}, {Text: "Ready", Tone: Good}, {Text: "x"}, {}},
			{{Text: "größer"}, {Text: "Silent", Tone: Bad}, {}, {Text: "nobody\nanswers\x1b[31m"}},
			{{Text: "short"}},
		},
	}
	const faint = "\x1b[2m-\x1b[0m"
	cases := map[string]struct {
		options Options
		want    string
	}{
		"plain": {Options{}, "" +
			"NAME    STATE   WHY\n" +
			"a       Ready   -\n" +
			"größer  Silent  nobody …\n" +
			"short   -       -\n"},
		"wide": {Options{Wide: true}, "" +
			"NAME    STATE   NOTE  WHY\n" +
			"a       Ready   x     -\n" +
			"größer  Silent  -     nobody answers\\x1b[31m\n" +
			"short   -       -     -\n"},
		"in colour": {Options{Color: true}, "" +
			"NAME    STATE   WHY\n" +
			"a       \x1b[32mReady\x1b[0m   \x1b[2m-\x1b[0m\n" +
			"größer  \x1b[31mSilent\x1b[0m  nobody …\n" +
			"short   " + faint + "       " + faint + "\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var out strings.Builder
			g.Expect(table.Write(&out, tc.options)).To(Succeed())
			g.Expect(out.String()).To(Equal(tc.want))
		})
	}
}

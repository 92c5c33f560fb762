package prose_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/prose"
)

func TestPrintable(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ text, want string }{
		"plain text stays":                            {"all is well: 100 %\n\tyes", "all is well: 100 %\n\tyes"},
		"text of other scripts stays":                 {"Fjällbacka – 東京 क्\u200dष می\u200cخواهم 👩\u200d🚀 €", "Fjällbacka – 東京 क्\u200dष می\u200cخواهم 👩\u200d🚀 €"},
		"an escape sequence is written out":           {"a\x1b[2J\x1b]0;title\x07b", `a\x1b[2J\x1b]0;title\x07b`},
		"so is that of one character":                 {"a\u009b2J", `a\u009b2J`},
		"a carriage return overwrites nothing":        {"broken\rfine  ", `broken\x0dfine  `},
		"that of a line break is none":                {"one\r\ntwo", "one\ntwo"},
		"backspaces take nothing away":                {"bad\b\b\bfine\x7f", `bad\x08\x08\x08fine\x7f`},
		"marks of direction turn nothing":             {"\u202egnp.exe\u202c \u2066x\u2069 \u200f", `\u202egnp.exe\u202c \u2066x\u2069 \u200f`},
		"what cannot be seen is written out":          {"a\u200bb\ufeff\u2028\u00ad\U000e0041", `a\u200bb\ufeff\u2028\u00ad\U000e0041`},
		"what is no text is written out byte by byte": {"a\xff\xfeb", `a\xff\xfeb`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			g.Expect(prose.Printable(tc.text)).To(Equal(tc.want))
			g.Expect(prose.Printable(tc.want)).To(Equal(tc.want))
		})
	}
	NewWithT(t).Expect(prose.OneLine("a\n  b\r\n\tc\x07 ")).To(Equal(`a b c\x07`))
}

func TestWriter(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const green = "\x1b[32m"
	text := green + "fine €\x1b[2J\n"
	var out strings.Builder
	w := prose.NewWriter(&out, green)
	n, err := w.Write([]byte(text))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(n).To(Equal(len(text)))
	g.Expect(out.String()).To(Equal(green + "fine €" + `\x1b[2J` + "\n"))

	out.Reset()
	for _, b := range []byte("€\U0001f680\xe2") { // in pieces, as programs write them
		_, err := w.Write([]byte{b})
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Expect(out.String()).To(Equal("€\U0001f680"))
	_, err = w.Write([]byte("x"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.String()).To(Equal("€\U0001f680" + `\xe2x`))
}

func TestJSON(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	value := map[string]string{"a": "\x1b\u009b\u202e\U000e0041 € \r\n\t<>"}
	encoded, err := json.MarshalIndent(value, "", "  ")
	g.Expect(err).NotTo(HaveOccurred())
	encoded = prose.JSON(encoded)
	g.Expect(string(encoded)).To(Equal(prose.Printable(string(encoded))), "nothing is left that steers a terminal")
	var back map[string]string
	g.Expect(json.Unmarshal(encoded, &back)).To(Succeed())
	g.Expect(back).To(Equal(value), "it is exact")
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b[2J\u202e\r\nb\xff")
	f.Fuzz(func(t *testing.T, text string) {
		out := prose.Printable(text)
		NewWithT(t).Expect(utf8.ValidString(out)).To(BeTrue())
		NewWithT(t).Expect(strings.ContainsAny(out, "\x1b\x07\r\b\u009b\u202e\u2066\u200f")).To(BeFalse())
	})
}

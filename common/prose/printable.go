package prose

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Joiners, which the scripts of some languages and some emoji need inside words.
const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
)

// Printable makes a text of unknown origin safe to show: characters that control a terminal, change the direction of
// the text or are invisible are escaped, as \x1b or \u202e. Line breaks and tabs stay; CRLF becomes LF.
func Printable(text string) string { return printable(text, nil) }

// OneLine is Printable on one line: white space is collapsed to single spaces.
func OneLine(text string) string { return strings.Join(strings.Fields(Printable(text)), " ") }

// printable is Printable, except that it keeps the given escape sequences.
func printable(text string, codes []string) string {
	if plain(text) {
		return text
	}
	var out strings.Builder
next:
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == '\x1b' {
			for _, code := range codes {
				if strings.HasPrefix(text[i:], code) {
					out.WriteString(code)
					i += len(code)
					continue next
				}
			}
		}
		switch {
		case r == utf8.RuneError && size <= 1:
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case r == '\r' && strings.HasPrefix(text[i:], "\r\n"):
		case visible(r):
			out.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
		i += size
	}
	return out.String()
}

// JSON escapes in an encoded JSON value what Printable would escape, so that the decoded value is the same.
func JSON(encoded []byte) []byte {
	var out bytes.Buffer
	for _, r := range string(encoded) {
		switch {
		case visible(r):
			out.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		}
	}
	return out.Bytes()
}

// plain returns whether a text consists only of visible ASCII, spaces, tabs and line breaks.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' && c != '\n' && c != '\t') || c > '~' {
			return false
		}
	}
	return true
}

// visible returns whether a character may be shown as it is.
func visible(r rune) bool {
	return r == '\n' || r == '\t' || r == zeroWidthNonJoiner || r == zeroWidthJoiner ||
		unicode.IsPrint(r) || unicode.Is(unicode.Zs, r)
}

// writer is the io.Writer that NewWriter returns.
type writer struct {
	to    io.Writer
	codes []string
	mu    sync.Mutex
	// rest is the beginning of an incomplete character.
	rest []byte
}

// NewWriter returns a writer that makes text Printable before it goes to a terminal. codes are the program's own
// escape sequences, each passed in a single Write, which are kept. It is safe for concurrent use.
func NewWriter(to io.Writer, codes ...string) io.Writer { return &writer{to: to, codes: codes} }

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := slices.Concat(w.rest, p)
	whole := len(text)
	for i := max(0, len(text)-utf8.UTFMax+1); i < len(text); i++ {
		if utf8.RuneStart(text[i]) && !utf8.FullRune(text[i:]) {
			whole = i
			break
		}
	}
	w.rest = text[whole:]
	if _, err := io.WriteString(w.to, printable(string(text[:whole]), w.codes)); err != nil {
		return 0, err
	}
	return len(p), nil
}

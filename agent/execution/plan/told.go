package plan

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"fairlead.dev/common/prose"
)

// Told returns what the hub was last told about the manifests of a Work, by ordinal, parsed from its condition
// Applied of this generation; nil if there is nothing. Nothing is known beyond the point where a long message was
// cut, or from a message that cannot be parsed. A failed manifest counts as refused, with the message as the reason.
func Told(applied *metav1.Condition, manifests []Manifest) map[int]Outcome {
	if applied == nil {
		return nil
	}
	var failed []Outcome
	whole := true
	if applied.Status != metav1.ConditionTrue {
		var ok bool
		if failed, whole, ok = failures(applied.Message, manifests); !ok {
			return nil
		}
	}
	last := len(manifests)
	if !whole { // the last one was cut, and those after it may have failed as well
		last, failed = failed[len(failed)-1].Ordinal, failed[:len(failed)-1]
	}
	out := make(map[int]Outcome, len(manifests))
	for _, m := range manifests {
		if m.Ordinal < last {
			out[m.Ordinal] = Outcome{Ordinal: m.Ordinal, Object: m.Object, Result: Applied}
		}
	}
	for _, o := range failed {
		out[o.Ordinal] = o
	}
	return out
}

// failures parses a message of Condition: which manifests failed and why, and whether these are all. ok is false if
// there are none.
func failures(message string, manifests []Manifest) (failed []Outcome, whole, ok bool) {
	var applied, all int
	if n, err := fmt.Sscanf(message, failedFormat, &applied, &all); n != 2 || err != nil || all != len(manifests) {
		return nil, false, false
	}
	_, text, _ := strings.Cut(message, "): ")
	left := slices.Clone(manifests)
	slices.SortFunc(left, func(a, b Manifest) int { return a.Ordinal - b.Ordinal })
	for text != "" {
		next := slices.IndexFunc(left, func(m Manifest) bool { return strings.HasPrefix(text, lead(m)) })
		if next < 0 {
			return nil, false, false
		}
		m := left[next]
		left, text = left[next+1:], text[len(lead(m)):]
		why, rest := text, ""
		for from := 0; ; { // a message may contain the separator
			at := strings.Index(text[from:], between)
			if at < 0 {
				break
			}
			at += from
			if after := text[at+len(between):]; slices.ContainsFunc(left, func(m Manifest) bool { return strings.HasPrefix(after, lead(m)) }) {
				why, rest = text[:at], after
				break
			}
			from = at + len(between)
		}
		failed = append(failed, Outcome{Ordinal: m.Ordinal, Object: m.Object, Result: Refused, Message: why})
		text = rest
	}
	whole = len(failed) == all-applied
	return failed, whole, len(failed) > 0 && (whole || prose.IsCut(message))
}

// lead returns the beginning of the sentence about a manifest.
func lead(m Manifest) string { return sentence(Outcome{Ordinal: m.Ordinal, Object: m.Object}) }

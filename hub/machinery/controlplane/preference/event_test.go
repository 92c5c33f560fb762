package preference

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	metadataOf = `"metadata":{"generation":%d,"name":"web","annotations":{"a":"\"spec\":{\\"}}`
	specOf     = `"spec":{"workload":{"manifests":[{"kind":"ConfigMap","data":{"a":"}]\\\"{","b":"é\u003c"}}]}}`
	statusOf   = `"status":{"conditions":[{"type":"Applied"}],"observedGeneration":%d}`
)

// eventOf returns a watch event about an object with these members.
func eventOf(kind string, members ...string) string {
	return fmt.Sprintf(`{"type":%q,"object":{"apiVersion":"v1","kind":"Work",%s}}`, kind, strings.Join(members, ",")) + "\n"
}

func TestASpecThatWasObservedIsLeftOut(t *testing.T) {
	t.Parallel()
	metadata, status := fmt.Sprintf(metadataOf, 3), fmt.Sprintf(statusOf, 3)
	for name, order := range map[string][]string{
		"between others": {metadata, specOf, status},
		"the last":       {metadata, status, specOf},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got := string(withoutObservedSpec([]byte(eventOf("MODIFIED", order...))))
			g.Expect(got).To(Equal(eventOf("MODIFIED", metadata, status)))
			g.Expect(json.Valid([]byte(got))).To(BeTrue())
		})
	}
}

func TestEventsThatSayMorePassAsTheyAre(t *testing.T) {
	t.Parallel()
	metadata, status := fmt.Sprintf(metadataOf, 3), fmt.Sprintf(statusOf, 3)
	whole := eventOf("MODIFIED", metadata, specOf, status)
	for name, event := range map[string]string{
		"a generation that was not observed": eventOf("MODIFIED", metadata, specOf, fmt.Sprintf(statusOf, 2)),
		"no status":                          eventOf("MODIFIED", metadata, specOf),
		"no generation":                      eventOf("MODIFIED", specOf, fmt.Sprintf(statusOf, 0)),
		"no spec":                            eventOf("MODIFIED", metadata, status),
		"one that is new":                    eventOf("ADDED", metadata, specOf, status),
		"one that is gone":                   eventOf("DELETED", metadata, specOf, status),
		"a bookmark":                         `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}` + "\n",
		"two at once":                        whole + whole,
		"what follows":                       strings.Replace(whole, "}}\n", `},"more":1}`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			NewWithT(t).Expect(withoutObservedSpec([]byte(event))).To(BeNil())
		})
	}
	for i := range len(whole) - 1 {
		NewWithT(t).Expect(withoutObservedSpec([]byte(whole[:i]))).To(BeNil(), "a part, of %d bytes", i)
	}
}

func TestOnlyWhoPrefersItGetsEventsWithoutSpecs(t *testing.T) {
	t.Parallel()
	whole := eventOf("MODIFIED", fmt.Sprintf(metadataOf, 3), specOf, fmt.Sprintf(statusOf, 3))
	for prefers, short := range map[string]bool{"": false, minimal: false, observedSpec: true} {
		g := NewWithT(t)
		resp, body := ask(t, http.MethodGet, "watch", prefers, says(http.StatusOK, "application/json", []byte(whole)))
		g.Expect(len(body) < len(whole)).To(Equal(short), prefers)
		g.Expect(resp.Header.Get("Preference-Applied") == observedSpec).To(Equal(short), prefers)
	}
	g := NewWithT(t)
	_, body := ask(t, http.MethodGet, "list", observedSpec, says(http.StatusOK, "application/json", []byte(whole)))
	g.Expect(string(body)).To(Equal(whole))
	_, body = ask(t, http.MethodGet, "watch", observedSpec, says(http.StatusOK, "application/cbor", []byte(whole)))
	g.Expect(string(body)).To(Equal(whole))
}

// FuzzASpecIsLeftOutOfJSON compares the result with that of a JSON library.
func FuzzASpecIsLeftOutOfJSON(f *testing.F) {
	f.Add(eventOf("MODIFIED", fmt.Sprintf(metadataOf, 3), specOf, fmt.Sprintf(statusOf, 3)))
	f.Add(eventOf("MODIFIED", specOf, fmt.Sprintf(metadataOf, 1), fmt.Sprintf(statusOf, 1)))
	f.Fuzz(func(t *testing.T, text string) {
		var event map[string]map[string]any
		var kind struct{ Type string }
		_ = json.Unmarshal([]byte(text), &kind)
		_ = json.Unmarshal([]byte(text), &event) // the type is no object, which is the error
		short := withoutObservedSpec([]byte(text))
		if short == nil || !json.Valid([]byte(text)) {
			return // kube-apiserver writes valid JSON
		}
		var got map[string]map[string]any
		_ = json.Unmarshal(short, &got)
		delete(event["object"], "spec")
		g := NewWithT(t)
		g.Expect(json.Valid(short)).To(BeTrue(), string(short))
		g.Expect(kind.Type).To(Equal("MODIFIED"))
		g.Expect(got["object"]).To(Equal(event["object"]))
	})
}

// BenchmarkEvent measures an event of 3 kB.
func BenchmarkEvent(b *testing.B) {
	spec := `"spec":{"workload":{"manifests":[{"data":{"text":"` + strings.Repeat("all work and no play ", 100) + `"}}]}}`
	event := []byte(eventOf("MODIFIED", fmt.Sprintf(metadataOf, 3), spec, fmt.Sprintf(statusOf, 3)))
	b.SetBytes(int64(len(event)))
	b.ReportAllocs()
	for b.Loop() {
		if withoutObservedSpec(event) == nil {
			b.Fatal("it is left in")
		}
	}
}

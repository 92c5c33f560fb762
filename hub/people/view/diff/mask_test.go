package diff

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

func TestMask(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := NewMask([]byte("key"))
	secret := map[string]any{
		"kind": "Secret",
		"metadata": map[string]any{"name": "s", "annotations": map[string]any{
			"kubectl.kubernetes.io/last-applied-configuration": `{"stringData":{"b":"hush"}}`, "mine": "shown",
		}},
		"data":       map[string]any{"a": "aHVzaA==", "same": "aHVzaA==", "other": "SFVTSA==", "none": nil, "odd": "hush!", "number": int64(7)},
		"stringData": map[string]any{"b": "hush"},
	}
	before := fmt.Sprint(secret)
	out := m.Object(secret)
	g.Expect(fmt.Sprint(secret)).To(Equal(before), "the object itself stays")
	g.Expect(fmt.Sprint(out)).NotTo(MatchRegexp("(?i)hush|aHVzaA|SFVTSA"))
	data, ok := out["data"].(map[string]any)
	g.Expect(ok).To(BeTrue())
	texts, ok := out["stringData"].(map[string]any)
	g.Expect(ok).To(BeTrue())
	g.Expect(data["a"]).To(MatchRegexp(`^\(hidden, [0-9a-f]{12}\)$`))
	g.Expect(data["a"]).To(Equal(data["same"]), "what is equal looks equal")
	g.Expect(data["a"]).To(Equal(texts["b"]), "however it is written")
	g.Expect(data["a"]).NotTo(Equal(data["other"]), "what differs looks different, be it as long")
	g.Expect(data["number"]).To(HavePrefix("(hidden, "))
	g.Expect(out["metadata"]).To(HaveKeyWithValue("annotations", HaveKeyWithValue("mine", "shown")))

	again := NewMask([]byte("key")).Object(secret)
	g.Expect(again).To(Equal(out))
	g.Expect(NewMask([]byte("another")).Object(secret)["data"]).NotTo(HaveKeyWithValue("a", data["a"]), "nobody without the key can tell")
	g.Expect(m.Object(map[string]any{"kind": "Secret", "data": "hush"})["data"]).To(HavePrefix("(hidden, "))
	shown := map[string]any{"kind": "ConfigMap", "data": map[string]any{"a": "b"}}
	g.Expect(m.Object(shown)).To(Equal(shown))
}

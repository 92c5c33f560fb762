package selector

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestSkippedKinds(t *testing.T) {
	t.Parallel()
	deployment := schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	pod := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	cases := map[string]struct {
		skipped string
		kind    schema.GroupVersionKind
		want    bool
	}{
		"nothing":                         {"", deployment, false},
		"a group":                         {"apps", deployment, true},
		"another group":                   {"batch", deployment, false},
		"a version":                       {"apps/v1", deployment, true},
		"another version":                 {"apps/v2", deployment, false},
		"a kind":                          {"apps/v1/Deployment", deployment, true},
		"one of several kinds":            {"apps/v1/ReplicaSet,Deployment", deployment, true},
		"another kind":                    {"apps/v1/ReplicaSet", deployment, false},
		"a kind in another case":          {"apps/v1/deployment", deployment, true},
		"a kind of the core group":        {"v1/Pod", pod, true},
		"another kind of the core group":  {"v1/Secret", pod, false},
		"several tokens, and blanks":      {" batch ; apps/v1/Deployment; ", deployment, true},
		"a group is not that of the core": {"pods", pod, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			skipped, err := ParseSkippedKinds(tc.skipped)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(NewExclusions("karmada-es-", nil, skipped).ExcludesKind(tc.kind)).To(Equal(tc.want))
		})
	}
	for _, bad := range []string{"a/b/c/d", "apps//Deployment", "/v1", "apps/"} {
		_, err := ParseSkippedKinds(bad)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring(bad)))
	}
}

package version

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheTagOfImages(t *testing.T) {
	t.Parallel()
	for of, want := range map[string]string{
		"v1.2.3": "v1.2.3", "v0.0.0-20261122070000-abd97cb01234+dirty": "v0.0.0-20261122070000-abd97cb01234-dirty", "(devel)": "latest", "": "latest",
	} {
		NewWithT(t).Expect(imageTag(of)).To(Equal(want), of)
		NewWithT(t).Expect(imageTag(of)).To(MatchRegexp(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`), "what a registry takes")
	}
}

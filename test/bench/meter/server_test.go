package meter

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestRequestKey(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(requestKey(map[string]string{"verb": "PATCH", "resource": "works", "subresource": "status"})).To(Equal("PATCH works/status"))
	g.Expect(requestKey(map[string]string{"verb": "POST", "resource": "works", "dry_run": "All"})).To(Equal("TRY POST works"), "it writes nothing")
	g.Expect(requestKey(map[string]string{"verb": "GET"})).To(BeEmpty())
}

package contract

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/api/validation"
)

func TestAllPartsOfABindingsAnnotationsHaveRoom(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const names = 8 << 10 // keys, and values that are names and times, each of at most 253 bytes
	g.Expect(MaxAnnotations).To(Equal(validation.TotalAnnotationSizeLimitB))
	g.Expect(MaxAppliedPlacement + MaxDependencies + MaxAdmittedRequests + MaxEvictions + names).To(BeNumerically("<=", MaxAnnotations))
}

package contract

import (
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPropagationOf(t *testing.T) {
	g := NewWithT(t)
	for said, want := range map[string]metav1.DeletionPropagation{
		"": metav1.DeletePropagationBackground, "Background": metav1.DeletePropagationBackground,
		"foreground": metav1.DeletePropagationForeground, "Orphan": metav1.DeletePropagationOrphan,
	} {
		got, ok := PropagationOf(said)
		g.Expect(ok).To(BeTrue(), said)
		g.Expect(got).To(Equal(want), said)
	}
	for _, said := range []string{"Orphann", " Orphan", "true"} {
		_, ok := PropagationOf(said)
		g.Expect(ok).To(BeFalse(), said)
	}
}

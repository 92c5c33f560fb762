package revision_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"fairlead.dev/common/revision"
)

func TestARolloutLeadsWhatIsInItsNamespace(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(revision.Leads("shop", "shop")).To(BeTrue())
	g.Expect(revision.Leads("shop", "")).To(BeFalse(), "that is everybody's")
	g.Expect(revision.Leads("shop", "bank")).To(BeFalse())
	g.Expect(revision.Leads("", "")).To(BeTrue())
	g.Expect(revision.Leads("", "shop")).To(BeTrue(), "an administrator's")
}

// TestARevisionThatKeptMoreIsStillTheSame covers a revision of an older hub that also kept cluster-scoped dependents:
// the upgrade of the hub alone must not create a revision of the application.
func TestARevisionThatKeptMoreIsStillTheSame(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	issuer := &unstructured.Unstructured{Object: object{"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer", "metadata": object{"name": "public"}}}
	main, config := revision.Source{Template: deployment(nil)}, revision.Source{Template: configMap("1")}
	kept, err := revision.Make(main, config, revision.Source{Template: issuer})
	g.Expect(err).NotTo(HaveOccurred())
	now, err := revision.Make(main, config)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kept.Led()).To(Equal(now.Dependents))
	same, err := kept.Same(now, func(revision.Ref) revision.Revise { return nil })
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(same).To(BeTrue())
}

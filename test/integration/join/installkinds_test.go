package join

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
)

// TestAnAgentThatIsConfinedToKindsAloneGetsOthers runs alone, as above.
func TestAnAgentThatIsConfinedToKindsAloneGetsOthers(t *testing.T) {
	h, ctx := newHub(t), t.Context()
	h.serve()
	installer, err := install.New(h.config)
	h.g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		h.g.Expect(installer.Remove(context.Background())).To(Succeed())
	})
	kinds := func() []string {
		is, err := installer.Settings(ctx, true)
		h.g.Expect(err).NotTo(HaveOccurred())
		h.g.Expect(is.Other).To(BeEmpty())
		return is.Kinds
	}
	token := h.created(ctx, "--cluster", installedName)
	h.installs(ctx, "--token", token, "--kinds", "configmaps")
	h.g.Expect(kinds()).To(Equal([]string{"configmaps"}))
	h.installs(ctx, "--token", token, "--kinds", "configmaps,secrets")
	h.g.Expect(kinds()).To(Equal([]string{"configmaps", "secrets"}))

	// The owner removes a rule by hand, which no list of kinds expresses.
	role := &rbacv1.ClusterRole{}
	member, err := client.New(h.config, client.Options{Scheme: scheme.Scheme})
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(member.Get(ctx, client.ObjectKey{Name: manifest.Name}, role)).To(Succeed())
	role.Rules = []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}}}
	h.g.Expect(member.Update(ctx, role)).To(Succeed())
	_, err = agent(ctx, h.installing("--token", token)...)
	h.g.Expect(err).To(MatchError(And(ContainSubstring("changed by hand"), ContainSubstring("--kinds"))))

	h.installs(ctx, "--token", token, "--kinds", "")
	h.g.Expect(kinds()).To(BeEmpty())

	h.must(ctx, "forget", installedName, "--force")
	h.g.Eventually(func() error {
		return h.Get(ctx, client.ObjectKey{Name: installedName}, &clusterv1alpha1.Cluster{})
	}).WithTimeout(time.Minute).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
}

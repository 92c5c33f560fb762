package join

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/registration"
	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/contract"
	testcluster "fairlead.dev/test/cluster"
)

// installedName is that of the cluster as which an agent is installed.
const installedName = "is-made-anew"

// installs runs `agent join --install`, where no pod runs: it ends when the hub did not hear the agent in time.
func (h *hub) installs(ctx context.Context, more ...string) {
	h.t.Helper()
	kubeconfig := testcluster.Shared(h.t, testcluster.Options{Profile: testcluster.Hub}).Kubeconfig
	args := append([]string{
		"join", h.address, "--install", "--cluster-name", installedName, "--discovery-token-ca-cert-hash", h.hashes[0], "--kubeconfig", kubeconfig,
		"--ready-timeout", "100ms", "--image", "registry.example/agent:v1", "--state-volume", "none",
	}, more...)
	out, err := agent(ctx, args...)
	h.t.Log(out)
	h.g.Expect(err).To(MatchError(ContainSubstring("pod")), "nothing makes one here")
}

// TestAnInstalledAgentIsMadeAnewToTakeOverALaterJoin runs alone, since there is one installed agent in a member.
func TestAnInstalledAgentIsMadeAnewToTakeOverALaterJoin(t *testing.T) {
	h, ctx := newHub(t), t.Context()
	h.serve()
	installer, err := install.New(h.config)
	h.g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		h.g.Expect(installer.Remove(context.Background())).To(Succeed())
	})
	member, err := client.New(h.config, client.Options{})
	h.g.Expect(err).NotTo(HaveOccurred())
	template := func() *corev1.PodTemplateSpec {
		deployment := &appsv1.Deployment{}
		h.g.Expect(member.Get(ctx, client.ObjectKey{Namespace: contract.SystemNamespace, Name: manifest.Name}, deployment)).To(Succeed())
		return &deployment.Spec.Template
	}

	first := h.created(ctx, "--cluster", installedName)
	h.installs(ctx, "--token", first)
	before := template()
	h.installs(ctx, "--token", first)
	h.g.Expect(template()).To(Equal(before), "the pod stays")

	// The pod of this join runs, and has not saved everything yet.
	state, err := installer.State(ctx)
	h.g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	h.g.Expect(registration.WriteFiles(dir, state)).To(Succeed())
	store, err := registration.OpenSecretStore(h.config, contract.SystemNamespace+"/"+manifest.Name)
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(store.Restore(ctx, dir, "")).To(Succeed())
	h.g.Expect(registration.WriteFiles(dir, map[string][]byte{"renewal.key": []byte("k")})).To(Succeed())

	h.installs(ctx, "--token", first, "--on-retire", registration.Remove)
	after := template()
	h.g.Expect(after).NotTo(Equal(before), "who runs goes by what was said before")
	h.g.Expect(store.Save(ctx, dir)).To(Succeed())
	said, err := registration.Files(dir)
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(string(said["agent.json"])).To(ContainSubstring(registration.Remove), "it takes over what was said, and does not undo it")
	h.g.Expect(registration.WriteFiles(dir, map[string][]byte{"renewal.key": []byte("another")})).To(Succeed())

	h.must(ctx, "forget", installedName, "--force")
	// Certificates are told apart by the second in which they begin.
	now := time.Now().Unix()
	h.g.Eventually(func() int64 { return time.Now().Unix() }).Should(BeNumerically(">", now))
	h.g.Eventually(func() error {
		_, err := h.command(ctx, "token", "create", "--cluster", installedName)
		return err
	}).WithTimeout(time.Minute).Should(Succeed())
	h.installs(ctx, "--token", h.created(ctx, "--cluster", installedName))
	h.g.Expect(template()).NotTo(Equal(after), "what runs was revoked")

	joined, err := installer.State(ctx)
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(store.Save(ctx, dir)).To(MatchError(registration.ErrJoinedAgain))
	h.g.Expect(store.Superseded(ctx, dir)).To(MatchError(registration.ErrJoinedAgain))
	h.g.Expect(installer.State(ctx)).To(Equal(joined), "the pod of before does not undo it")
	h.g.Expect(store.Restore(ctx, dir, "")).To(Succeed())
	h.g.Expect(registration.Files(dir)).To(Equal(joined))
	h.g.Expect(store.Superseded(ctx, dir)).To(Succeed())

	// Other tests join with the same member.
	h.must(ctx, "forget", installedName, "--force")
	h.g.Eventually(func() error {
		return h.Get(ctx, client.ObjectKey{Name: installedName}, &clusterv1alpha1.Cluster{})
	}).WithTimeout(time.Minute).Should(MatchError(apierrors.IsNotFound, "IsNotFound"))
}

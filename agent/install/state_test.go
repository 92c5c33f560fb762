package install

import (
	"context"
	"maps"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/cluster"
)

func TestMain(m *testing.M) { cluster.Main(m) }

// meddled calls before between the read and the apply of a Secret.
type meddled struct {
	client.Client

	before func()
}

func (m meddled) Apply(ctx context.Context, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if u, ok := obj.(interface{ GetKind() string }); ok && u.GetKind() == "Secret" {
		m.before()
	}
	return m.Client.Apply(ctx, obj, opts...)
}

// TestTheStateOfAnAgentIsWrittenOverNothingThatCameMeanwhile has a running agent renew its certificate between the
// command's read of the Secret and its write.
func TestTheStateOfAnAgentIsWrittenOverNothingThatCameMeanwhile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	member := cluster.Shared(t, cluster.Options{Profile: cluster.Hub}).Client(t)
	key := client.ObjectKey{Namespace: contract.SystemNamespace, Name: manifest.Name}
	renewals := 0
	renew := func() {
		if renewals == 2 {
			return
		}
		renewals++
		secret := &corev1.Secret{}
		secret.Namespace, secret.Name = key.Namespace, key.Name
		patch := client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"certificate":"renewed"}}`))
		if renewals == 1 {
			patch = client.RawPatch(types.MergePatchType, []byte(`{"stringData":{"certificate":"renewed before"}}`))
		}
		g.Expect(member.Patch(t.Context(), secret, patch, client.FieldOwner(contract.FieldManagerAgent))).To(Succeed())
	}
	// newer does what the agent's registration does: it takes the certificate of the Secret if there is one, else the
	// command's.
	newer := func(kept map[string][]byte) (map[string][]byte, error) {
		out := map[string][]byte{"certificate": []byte("first"), "said": []byte("keep")}
		if kept != nil {
			out["certificate"] = kept["certificate"]
		}
		return maps.Clone(out), nil
	}
	first := &Installer{memberClient: member}
	g.Expect(first.KeepState(t.Context(), manifest.Options{}, newer)).To(Succeed(), "there is no Secret yet")
	g.Expect(first.State(t.Context())).To(Equal(map[string][]byte{"certificate": []byte("first"), "said": []byte("keep")}))

	again := &Installer{memberClient: meddled{Client: member, before: renew}}
	g.Expect(again.KeepState(t.Context(), manifest.Options{}, newer)).To(Succeed())
	g.Expect(renewals).To(Equal(2))
	g.Expect(first.State(t.Context())).To(Equal(map[string][]byte{"certificate": []byte("renewed"), "said": []byte("keep")}))
}

package join

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/cli"
	"fairlead.dev/agent/registration"
	"fairlead.dev/agent/setup"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/contract"
	"fairlead.dev/test/builder"
	testcluster "fairlead.dev/test/cluster"
)

// killing ends the goroutine that prints a text.
type killing struct {
	at  string
	out bytes.Buffer
}

// Write implements io.Writer.
func (k *killing) Write(p []byte) (int, error) {
	k.out.Write(p)
	if strings.Contains(k.out.String(), k.at) {
		runtime.Goexit()
	}
	return len(p), nil
}

// killedAt runs a command of the agent until it prints a text.
func killedAt(ctx context.Context, text string, args ...string) string {
	out, ended := &killing{at: text}, make(chan struct{})
	go func() {
		defer close(ended)
		cli.Run(ctx, cli.Environment{Out: out, Err: out, SetLogger: func(logr.Logger) {}}, args)
	}()
	<-ended
	return out.out.String()
}

// has joins as a cluster with an object from the hub, and returns the state directory of its agent and the object.
func (h *hub) has(ctx context.Context, name string) (dir string, object *corev1.ConfigMap) {
	h.t.Helper()
	dir = h.keeps(ctx, name, 0).dir
	object = &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name}}
	work := builder.MakeWork(name, "w").Manifest(object).Obj()
	h.g.Eventually(func() error { return h.Create(ctx, work.DeepCopy()) }).WithTimeout(time.Minute).Should(Succeed())
	object.Labels = map[string]string{contract.ManagedLabel: contract.LabelTrue}
	object.Annotations = map[string]string{contract.WorkNamespaceAnnotation: work.Namespace, contract.WorkNameAnnotation: work.Name}
	h.g.Expect(h.Create(ctx, object)).To(Succeed())
	return dir, object
}

func TestLeavingComesToItsEndWhereverItWasStopped(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	shared := testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub})
	for name, c := range map[string]struct{ objects, at string }{
		"let-go-keeps":   {registration.Keep, "The hub has released the cluster"},
		"let-go-removes": {registration.Remove, "The hub has released the cluster"},
		"swept-keeps":    {registration.Keep, "without the agent's marks"},
		"swept-removes":  {registration.Remove, "objects are removed"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir, object := h.has(ctx, name)
			leaving := []string{"leave", "--objects", c.objects, "--state-dir", dir, "--kubeconfig", shared.Kubeconfig}
			out := killedAt(ctx, c.at, leaving...)
			g.Expect(out).To(ContainSubstring(c.at))
			g.Expect(dir).To(BeADirectory())
			out, err := agent(ctx, leaving...)
			g.Expect(err).NotTo(HaveOccurred(), out)
			g.Expect(out).To(And(ContainSubstring("has left"), Not(ContainSubstring("no record")), Not(ContainSubstring("the hub has 0 Works"))))
			g.Expect(dir).NotTo(BeADirectory())
			err = h.Get(ctx, client.ObjectKeyFromObject(object), object)
			if c.objects == registration.Remove {
				g.Expect(err).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(object.Labels).NotTo(HaveKey(contract.ManagedLabel))
		})
	}
}

func TestLeavingWithWhatIsLeftOfAStateDirectory(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	shared := testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub})
	leave := func(dir string) (string, error) {
		return agent(ctx, "leave", "--objects", registration.Remove, "--state-dir", dir, "--kubeconfig", shared.Kubeconfig)
	}
	begun := filepath.Join(t.TempDir(), "begun")
	h.g.Expect(registration.WriteFiles(begun, map[string][]byte{"agent.json": []byte(`{"cluster":"begun"}`), "agent.key": []byte("k")})).To(Succeed())
	out, err := leave(begun)
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(out).To(ContainSubstring("hub forget begun"))
	h.g.Expect(begun).NotTo(BeADirectory())

	// It was killed while it removed the agent's files.
	left := filepath.Join(t.TempDir(), "left")
	h.g.Expect(os.Mkdir(left, 0o700)).To(Succeed())
	h.g.Expect(os.WriteFile(filepath.Join(left, "agent.json"), []byte(`{"cluster":"left","left":true}`), 0o600)).To(Succeed())
	out, err = leave(left)
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(out).To(HavePrefix("Cluster left has left"))
	h.g.Expect(left).NotTo(BeADirectory())

	// Somebody removed the credentials of an agent that has run.
	ran := filepath.Join(t.TempDir(), "ran")
	h.g.Expect(registration.WriteFiles(ran, map[string][]byte{"agent.json": []byte(`{"cluster":"ran"}`)})).To(Succeed())
	o := setup.Options{Cluster: "ran", StateDir: ran, Clock: clock.RealClock{}, JournalSecret: []byte("0123456789abcdef")}
	h.g.Expect(setup.Record(ctx, o, []*workv1alpha1.Work{builder.MakeWork("ran", "w").Obj()})).To(Succeed())
	_, err = leave(ran)
	h.g.Expect(err).To(MatchError(ContainSubstring(registration.ErrNotJoined.Error())))
	h.g.Expect(os.ReadDir(filepath.Join(ran, "journal", "ran"))).To(HaveLen(2), "the record is there still")
}

func TestLeavingReadsARecordThatIsSealed(t *testing.T) {
	h := newHub(t)
	ctx := t.Context()
	h.serve()
	shared := testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub})
	dir, object := h.has(ctx, "sealed")
	secret := []byte("0123456789abcdef")
	key := filepath.Join(t.TempDir(), "key")
	h.g.Expect(os.WriteFile(key, secret, 0o600)).To(Succeed())
	leaving := []string{"leave", "--objects", registration.Remove, "--state-dir", dir, "--kubeconfig", shared.Kubeconfig}
	h.g.Expect(setup.Record(ctx, setup.Options{Cluster: "sealed", StateDir: dir, Clock: clock.RealClock{}, JournalSecret: secret},
		[]*workv1alpha1.Work{builder.MakeWork("sealed", "gone").Obj()})).To(Succeed())

	_, err := agent(ctx, leaving...)
	h.g.Expect(err).To(MatchError(ContainSubstring("--journal-key-file")))
	h.g.Expect(os.ReadDir(filepath.Join(dir, "journal", "sealed"))).To(HaveLen(2), "nothing is set aside")
	leaving = append(leaving, "--journal-key-file", key)
	killedAt(ctx, "The hub has released the cluster", leaving...)
	out, err := agent(ctx, leaving...)
	h.g.Expect(err).NotTo(HaveOccurred())
	h.g.Expect(out).To(ContainSubstring("1 objects are removed"))
	h.g.Expect(h.Get(ctx, client.ObjectKeyFromObject(object), object)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
}

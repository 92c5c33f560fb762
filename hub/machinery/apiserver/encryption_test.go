package apiserver

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policyv1alpha1 "fairlead.dev/common/api/policy/v1alpha1"
	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
	"fairlead.dev/common/kube"
)

// marker is a text that no file of a database may contain.
const marker = "nobody-may-read-this-in-a-file"

// plainly is a configuration that encrypts nothing, like versions without encryption.
const plainly = `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: ["*.*"]
  providers:
  - identity: {}
`

// holding returns the files below a directory that contain a text, plain or base64-encoded.
func holding(g Gomega, dir, text string) []string {
	var out []string
	encoded := base64.StdEncoding.EncodeToString([]byte(text))
	g.Expect(filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) || bytes.Contains(data, []byte(encoded)) {
			out = append(out, path)
		}
		return err
	})).To(Succeed())
	return out
}

// secretStore is a data directory that a test fills with secrets.
type secretStore struct {
	*WithT
	Embedded

	t *testing.T
	p *Process
	c client.Client
}

// secrets is the number of Secrets: too many for one transaction.
const secrets = 120

func (s *secretStore) start() {
	s.t.Helper()
	p, err := s.Start(s.t.Context())
	s.Expect(err).NotTo(HaveOccurred())
	s.t.Cleanup(func() {
		select {
		case <-p.Done():
		default:
			p.Stop()
		}
	})
	scheme, err := kube.NewScheme()
	s.Expect(err).NotTo(HaveOccurred())
	s.c, err = client.New(p.Config(), client.Options{Scheme: scheme})
	s.Expect(err).NotTo(HaveOccurred())
	s.p = p
}

func (s *secretStore) fill() {
	s.t.Helper()
	s.Expect(Install(s.t.Context(), s.p.Config(), Options{})).To(Succeed())
	padding := strings.Repeat("x", 20<<10)
	for i := range secrets {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("secret-%d", i)},
			StringData: map[string]string{"marker": marker, "number": fmt.Sprint(i), "padding": padding},
		}
		s.Expect(s.c.Create(s.t.Context(), secret)).To(Succeed())
	}
	manifest, err := json.Marshal(&corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: "sent"}, Data: map[string][]byte{"marker": []byte(marker)},
	})
	s.Expect(err).NotTo(HaveOccurred())
	meta := metav1.ObjectMeta{Namespace: "default", Name: "one"}
	for _, obj := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"marker": marker}},
		&workv1alpha1.Work{ObjectMeta: meta, Spec: workv1alpha1.WorkSpec{Workload: workv1alpha1.WorkloadTemplate{
			Manifests: []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: manifest}}},
		}}},
		&policyv1alpha1.OverridePolicy{ObjectMeta: meta, Spec: policyv1alpha1.OverrideSpec{
			OverrideRules: []policyv1alpha1.RuleWithCluster{{Overriders: policyv1alpha1.Overriders{
				AnnotationsOverrider: []policyv1alpha1.LabelAnnotationOverrider{{Operator: policyv1alpha1.OverrideAdd, Value: map[string]string{"marker": marker}}},
			}}},
		}},
	} {
		s.Expect(s.c.Create(s.t.Context(), obj)).To(Succeed())
	}
}

// whole checks that no object is lost, or has another one's content.
func (s *secretStore) whole() {
	s.t.Helper()
	list := &corev1.SecretList{}
	s.Expect(s.c.List(s.t.Context(), list, client.InNamespace("default"))).To(Succeed())
	s.Expect(list.Items).To(HaveLen(secrets))
	for i := range list.Items {
		s.Expect("secret-" + string(list.Items[i].Data["number"])).To(Equal(list.Items[i].Name))
	}
	for _, obj := range []client.Object{&corev1.ConfigMap{}, &workv1alpha1.Work{}, &policyv1alpha1.OverridePolicy{}} {
		s.Expect(s.c.Get(s.t.Context(), client.ObjectKey{Namespace: "default", Name: "one"}, obj)).To(Succeed())
		data, err := json.Marshal(obj)
		s.Expect(err).NotTo(HaveOccurred())
		s.Expect(string(data)).To(Or(ContainSubstring(marker), ContainSubstring(base64.StdEncoding.EncodeToString([]byte(marker)))))
	}
}

// killWhen starts the embedded API and kills it once a file exists, or when it is ready.
func (s *secretStore) killWhen(there string) {
	s.t.Helper()
	// The kernel kills the child when the thread that started it ends, and the embedded APIs of other tests end
	// threads.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	said := &bytes.Buffer{}
	cmd := exec.Command(s.Binary, s.args()...)
	cmd.SysProcAttr = ChildAttributes()
	out, err := os.Create(filepath.Join(s.t.TempDir(), "out"))
	s.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = out.Close() }()
	cmd.Stdout, cmd.Stderr = out, out
	s.Expect(cmd.Start()).To(Succeed())
	s.Eventually(func() bool {
		data, _ := os.ReadFile(out.Name())
		said.Reset()
		said.Write(data)
		found, _ := filepath.Glob(filepath.Join(s.DataDir, there))
		return len(found) > 0 || strings.Contains(said.String(), "ready")
	}).WithTimeout(3*time.Minute).WithPolling(time.Millisecond).Should(BeTrue(), said.String)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// command runs the executable's command that shows or changes the keys.
func (s *secretStore) command(what string) string {
	s.t.Helper()
	out, err := exec.CommandContext(s.t.Context(), s.Binary, "encryption", what, "--data-dir", s.DataDir).CombinedOutput()
	s.Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

// key returns the name of the only key.
func (s *secretStore) key() string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.DataDir, "encryption", "keys.json"))
	s.Expect(err).NotTo(HaveOccurred())
	var file struct{ Keys []struct{ Name string } }
	s.Expect(json.Unmarshal(data, &file)).To(Succeed())
	s.Expect(file.Keys).To(HaveLen(1))
	return file.Keys[0].Name
}

// TestSecretsAreEncryptedInTheDatabase takes a data directory from a version that encrypted nothing, over starts that are
// killed, to a first key, to a second one, and back.
func TestSecretsAreEncryptedInTheDatabase(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := &secretStore{WithT: g, Embedded: embedded(t), t: t}
	given := filepath.Join(t.TempDir(), "plain.yaml")
	g.Expect(os.WriteFile(given, []byte(plainly), 0o600)).To(Succeed())
	etcd, keys := filepath.Join(s.DataDir, "etcd"), filepath.Join(s.DataDir, "encryption", "keys.json")

	// As left by a version that encrypted nothing.
	s.Flags = []string{"--encryption-provider-config=" + given}
	s.start()
	s.fill()
	s.p.Stop()
	g.Expect(os.RemoveAll(filepath.Dir(keys))).To(Succeed())
	g.Expect(holding(g, etcd, marker)).NotTo(BeEmpty(), "or the test finds nothing where everything is plain")
	s.Flags = nil

	// Killed at each stage: while it rewrites objects, while it makes the copy, and while the copy replaces the
	// database.
	for _, there := range []string{"run/client.sock*", "run/rebuild.db", "etcd.rebuilt", "etcd.rebuilt/member", "etcd.replaced"} {
		s.killWhen(there)
	}
	s.start()
	s.whole()
	g.Expect(holding(g, s.DataDir, marker)).To(BeEmpty())
	g.Expect(s.command("status")).To(ContainSubstring("no copy of before is left"))
	s.p.Stop()
	first := s.key()
	g.Expect(holding(g, etcd, first)).NotTo(BeEmpty(), "each value names its key")

	// A new key, with a start that is killed halfway.
	g.Expect(s.command("rotate")).To(ContainSubstring("Restart"))
	s.killWhen("run/rebuild.db")
	s.start()
	s.whole()
	s.p.Stop()
	g.Expect(s.key()).NotTo(Equal(first))
	g.Expect(holding(g, etcd, first)).To(BeEmpty(), "nothing is left that the old key decrypts")
	g.Expect(holding(g, s.DataDir, marker)).To(BeEmpty())

	// Without its keys the API does not start, says what is missing, and creates no others.
	g.Expect(os.Rename(keys, keys+".away")).To(Succeed())
	_, err := s.Start(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("bring it back from a backup")))
	g.Expect(keys).NotTo(BeAnExistingFile())
	g.Expect(os.Rename(keys+".away", keys)).To(Succeed())

	// Back to a version that encrypts nothing.
	s.Flags = []string{"--encryption-provider-config=" + given}
	s.start()
	s.whole()
	s.p.Stop()
	g.Expect(holding(g, etcd, marker)).NotTo(BeEmpty())
}

func TestAConfigurationOfEncryptionThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"": "no such file",
		"kind: Policy\napiVersion: audit.k8s.io/v1\n":                             "not EncryptionConfiguration",
		"kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\n": "names no resources",
	} {
		g := NewWithT(t)
		e := embedded(t)
		given := filepath.Join(t.TempDir(), "given.yaml")
		e.Flags = []string{"--encryption-provider-config=" + given}
		if name != "" {
			g.Expect(os.WriteFile(given, []byte(name), 0o600)).To(Succeed())
		}
		_, err := e.Start(t.Context())
		g.Expect(err).To(MatchError(And(ContainSubstring("--encryption-provider-config"), ContainSubstring(text))))
	}
}

package entry

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "fairlead.dev/common/api/work/v1alpha1"
)

func record() Record {
	work := &workv1alpha1.Work{ObjectMeta: metav1.ObjectMeta{
		Namespace: "karmada-es-edge", Name: "settings", UID: "u", Generation: 3, Finalizers: []string{"karmada.io/execution-controller"},
	}}
	work.Spec.Workload.Manifests = []workv1alpha1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(`{"kind":"Secret","replicas":3}`)}}}
	return Record{Work: work}
}

func TestEntriesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]Key{"in plain text": nil, "sealed": NewKey([]byte("open sesame\n"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			text, err := Encode("settings", record(), key)
			g.Expect(err).NotTo(HaveOccurred())
			var got Record
			g.Expect(Decode("settings", text, key, &got)).To(Succeed())
			g.Expect(got).To(BeComparableTo(record()))
			if key != nil {
				g.Expect(string(text)).NotTo(ContainSubstring("Secret"))
				g.Expect(Decode("settings", text, NewKey([]byte("another")), &got)).To(MatchError(ErrKey))
				g.Expect(Decode("settings", text, nil, &got)).To(MatchError(ErrKey))
				g.Expect(Decode("other", text, key, &got)).To(MatchError(ErrKey))
				g.Expect(string(text)).To(ContainSubstring(key.Fingerprint()))
				g.Expect(Decode("settings", []byte(strings.Replace(string(text), keyWord+key.Fingerprint(), "", 1)), key, &got)).To(Succeed(), "as versions before wrote it")
			} else {
				var planted Record
				g.Expect(Decode("settings", text, NewKey([]byte("open sesame\n")), &planted)).To(MatchError(ErrUnsealed))
				g.Expect(planted.Work).To(BeNil())
			}
		})
	}
}

func TestAFileThatWasTornAnywhereIsKnown(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	text, err := Encode("settings", record(), nil)
	g.Expect(err).NotTo(HaveOccurred())
	for length := range len(text) {
		var got Record
		g.Expect(Decode("settings", text[:length], nil, &got)).NotTo(Succeed())
		g.Expect(got.Work).To(BeNil())
		spoilt := append([]byte{}, text...)
		spoilt[length] ^= 0x20
		g.Expect(Decode("settings", spoilt, nil, &got)).NotTo(Succeed(), "byte %d", length)
	}
}

func TestForeignFilesAreRecognized(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"another program's":        "[section]\nkey=value\n",
		"another version's":        "fairlead-journal 2 plain sha256=00 length=0\n",
		"of an unknown sort":       "fairlead-journal 1 rot13 sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 length=0\n",
		"a line without an end":    "something else",
		"a checksum of no content": "fairlead-journal 1 plain sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 length=0\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got Record
			NewWithT(t).Expect(Decode("settings", []byte(text), nil, &got)).To(MatchError(ErrForeign))
		})
	}
}

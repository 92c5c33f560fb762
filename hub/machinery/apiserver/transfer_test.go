package apiserver

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// exported is an authority in a file, and the data directory that it is of.
func exported(t *testing.T, g Gomega) (file, dataDir string) {
	t.Helper()
	dataDir = newAuthorities(t, g)
	for name, content := range map[string]string{"pki/front-proxy-ca.key": "key", "pki/front-proxy-ca.crt": "crt", "pki/sa.key": "key", encryptionKeys: `{"keys":[{"name":"2026-11-22-abc"}]}`} {
		path := filepath.Join(dataDir, filepath.FromSlash(name))
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
	}
	a, err := OpenAuthorities(dataDir)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(a.Close()).To(Succeed()) }()
	transfer, err := a.Export(time.Now())
	g.Expect(err).NotTo(HaveOccurred())
	file = filepath.Join(t.TempDir(), "authority")
	g.Expect(transfer.Write(file)).To(Succeed())
	g.Expect(transfer.Write(file)).To(MatchError(ContainSubstring("exists")))
	return file, dataDir
}

func TestAnAuthorityIsBroughtToAnotherMachine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file, from := exported(t, g)
	info, err := os.Stat(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
	transfer, err := ReadTransfer(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(transfer.Describe()).To(And(ContainSubstring("sha256:"), ContainSubstring("2026-11-22-abc")))
	g.Expect(transfer.Describe()).NotTo(ContainSubstring("PRIVATE"))

	to := filepath.Join(t.TempDir(), "new")
	g.Expect(Import(t.Context(), transfer, to, false)).To(BeTrue())
	g.Expect(Import(t.Context(), transfer, to, false)).To(BeFalse(), "it has it")
	for _, name := range transferred() {
		want, err := os.ReadFile(filepath.Join(from, name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.ReadFile(filepath.Join(to, name))).To(Equal(want), name)
	}
	g.Expect(hasMark(to)).To(BeFalse())
}

func TestAnAuthorityThatOthersMayReadIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file, _ := exported(t, g)
	g.Expect(os.Chmod(file, 0o640)).To(Succeed())
	_, err := ReadTransfer(file)
	g.Expect(err).To(MatchError(ContainSubstring("may be read by others")))
}

func TestAnotherAuthorityIsGivenUpOnlyIfThatIsSaid(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file, _ := exported(t, g)
	other, to := exported(t, g)
	transfer, err := ReadTransfer(file)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = Import(t.Context(), transfer, to, false)
	g.Expect(err).To(MatchError(ContainSubstring("--replace")))
	g.Expect(Import(t.Context(), transfer, to, true)).To(BeTrue())

	// Whoever was killed on the way has none of the two whole, and starts over.
	g.Expect(os.WriteFile(filepath.Join(to, importMark), nil, 0o600)).To(Succeed())
	_, err = Embedded{Binary: "true", DataDir: to}.Start(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("was interrupted")))
	again, err := ReadTransfer(other)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Import(t.Context(), again, to, false)).To(BeTrue())

	// A database of its own goes with the authority that is there.
	g.Expect(os.MkdirAll(filepath.Join(to, "etcd", "member"), 0o700)).To(Succeed())
	_, err = Import(t.Context(), transfer, to, true)
	g.Expect(err).To(MatchError(ContainSubstring("a database of its own")))
}

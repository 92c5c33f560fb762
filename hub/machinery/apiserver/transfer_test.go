package apiserver

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// exported exports an authority to a file, and returns it with the data directory of its origin.
func exported(t *testing.T, g Gomega) (file, dataDir string) {
	t.Helper()
	dataDir = newAuthorities(t, g)
	proxy := filepath.Join(newAuthorities(t, g), "pki")
	files := map[string][]byte{encryptionKeys: fmt.Appendf(nil, `{"keys":[{"name":"2026-11-22-abc","secret":%q}]}`, base64.StdEncoding.EncodeToString(make([]byte, encryptionKeyBytes)))}
	for name, source := range map[string]string{"pki/front-proxy-ca.key": "ca.key", "pki/front-proxy-ca.crt": "ca.crt", "pki/sa.key": "ca.key"} {
		content, err := os.ReadFile(filepath.Join(proxy, source))
		g.Expect(err).NotTo(HaveOccurred())
		files[name] = content
	}
	for name, content := range files {
		path := filepath.Join(dataDir, filepath.FromSlash(name))
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
		g.Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
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
	for _, name := range sharedFiles() {
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

	// An import that was killed leaves neither of the two files complete, and is started over.
	g.Expect(os.WriteFile(filepath.Join(to, importMark), nil, 0o600)).To(Succeed())
	_, err = Embedded{Binary: "true", DataDir: to}.Start(t.Context())
	g.Expect(err).To(MatchError(ContainSubstring("was interrupted")))
	_, err = OpenAuthorities(to)
	g.Expect(err).To(MatchError(ContainSubstring("was interrupted")), "nor is it passed on")
	again, err := ReadTransfer(other)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(Import(t.Context(), again, to, false)).To(BeTrue())

	// The authority cannot be exchanged meanwhile.
	held, err := OpenAuthorities(to)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = Import(t.Context(), transfer, to, true)
	g.Expect(err).To(MatchError(ContainSubstring("another `hub ca` is at work")))
	g.Expect(held.Close()).To(Succeed())

	// A data directory with its own database keeps the authority that the database belongs to.
	g.Expect(os.MkdirAll(filepath.Join(to, "etcd", "member"), 0o700)).To(Succeed())
	_, err = Import(t.Context(), transfer, to, true)
	g.Expect(err).To(MatchError(ContainSubstring("a database of its own")))
}

func TestAFileThatIsNotWholeIsRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file, _ := exported(t, g)
	whole, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = ReadTransfer(file)
	g.Expect(err).NotTo(HaveOccurred())
	for name, damage := range map[string]func(Transfer){
		"pki/front-proxy-ca.key": func(t Transfer) { t.Files["pki/front-proxy-ca.key"] = t.Files["pki/ca.key"] },
		"pki/front-proxy-ca.crt": func(t Transfer) { t.Files["pki/front-proxy-ca.crt"] = []byte("none") },
		"pki/sa.key":             func(t Transfer) { t.Files["pki/sa.key"] = []byte("none") },
		encryptionKeys:           func(t Transfer) { t.Files[encryptionKeys] = []byte(`{"keys":[{"name":"short","secret":"AAAA"}]}`) },
		"more files":             func(t Transfer) { t.Files["../../etc/passwd"] = []byte("root") },
	} {
		transfer, err := ReadTransfer(file)
		g.Expect(err).NotTo(HaveOccurred())
		damage(transfer)
		path := filepath.Join(t.TempDir(), "damaged")
		g.Expect(transfer.Write(path)).To(Succeed())
		_, err = ReadTransfer(path)
		g.Expect(err).To(MatchError(And(ContainSubstring("is damaged"), ContainSubstring(name))))
	}
	g.Expect(os.WriteFile(file, whole[:len(whole)/2], 0o600)).To(Succeed())
	_, err = ReadTransfer(file)
	g.Expect(err).To(MatchError(ContainSubstring("is not a file that `hub ca export` wrote")))
}

func TestADataDirectoryOfAnotherUserIsLeftAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file, _ := exported(t, g)
	transfer, err := ReadTransfer(file)
	g.Expect(err).NotTo(HaveOccurred())
	other := "/" // owned by root
	if os.Geteuid() == 0 {
		other = t.TempDir()
		g.Expect(os.Chown(other, 1000, 1000)).To(Succeed())
	}
	_, err = Import(t.Context(), transfer, other, true)
	g.Expect(err).To(MatchError(ContainSubstring("run it as the user of the hub")))
}

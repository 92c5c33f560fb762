package registration

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestAStateDirectoryNamesNoFileAndNoCommandOfTheMachine covers a state that was restored from a Secret of a
// compromised member.
func TestAStateDirectoryNamesNoFileAndNoCommandOfTheMachine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "file")
	g.Expect(os.WriteFile(file, []byte("secret"), 0o600)).To(Succeed())
	for name, change := range map[string]func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo){
		"a command": func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
			user.Exec = &clientcmdapi.ExecConfig{Command: "touch", Args: []string{file}, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}
		},
		"a plugin": func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
			user.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"}
		},
		"a token": func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) { user.TokenFile = file },
		"a certificate": func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
			user.ClientCertificateData, user.ClientCertificate = nil, file
		},
		"a key": func(_ *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) {
			user.ClientKeyData, user.ClientKey = nil, file
		},
		"an authority": func(hub *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			hub.CertificateAuthorityData, hub.CertificateAuthority = nil, file
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := state{dir: t.TempDir()}
			g.Expect(s.claim(identity{Cluster: "edge-1", Server: "https://hub:1"})).To(Succeed())
			key, _, err := s.key(keyFile)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(s.keep("https://hub:1", "edge-1", []byte("ca"), []byte("cert"), key)).To(Succeed())
			_, err = Load(s.dir, "edge-1")
			g.Expect(err).NotTo(HaveOccurred())

			config, err := clientcmd.LoadFromFile(s.path(KubeconfigFile))
			g.Expect(err).NotTo(HaveOccurred())
			change(config.Clusters["hub"], config.AuthInfos["edge-1"])
			g.Expect(clientcmd.WriteToFile(*config, s.path(KubeconfigFile))).To(Succeed())
			_, err = Load(s.dir, "edge-1")
			g.Expect(err).To(And(MatchError(ErrStateDir), MatchError(ContainSubstring("names a command or a file"))))
			files, err := Files(s.dir)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(CheckFiles(files)).To(MatchError(ErrStateDir))
		})
	}
}

func TestTheNameOfAClusterLeadsToNoOtherDirectory(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	victim := filepath.Join(t.TempDir(), "x")
	g.Expect(os.Mkdir(victim, 0o700)).To(Succeed())
	s := state{dir: filepath.Join(filepath.Dir(victim), "state")}
	files := map[string][]byte{identityFile: []byte(`{"cluster":"../../x","left":true}`), KubeconfigFile: []byte("k")}
	g.Expect(WriteFiles(s.dir, files)).To(Succeed())
	g.Expect(CheckFiles(files)).To(MatchError(ErrStateDir))
	_, unfinished := Unfinished(files)
	g.Expect(unfinished).To(BeFalse())
	_, _, err := StageOf(s.dir)
	g.Expect(err).To(MatchError(ErrStateDir))
	_, err = Load(s.dir, "")
	g.Expect(err).To(MatchError(ErrStateDir))
	g.Expect(s.claim(identity{Cluster: "edge-1"})).To(MatchError(ErrStateDir))
	g.Expect(Forget(s.dir)).To(MatchError(ErrStateDir))
	g.Expect(victim).To(BeADirectory())
}

func TestThatAMemberHasLeftIsNotTakenFromElsewhere(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{identityFile: []byte(`{"cluster":"edge-1","left":true}`), KubeconfigFile: []byte("k")}
	for name, write := range map[string]func(string, map[string][]byte) error{"into an empty directory": WriteFiles, "over another join": replaceFiles} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			dir := t.TempDir()
			g.Expect(write(dir, files)).To(Succeed())
			stage, cluster, err := StageOf(dir)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(stage).To(Equal(StageJoined))
			g.Expect(cluster).To(Equal("edge-1"))
		})
	}
}

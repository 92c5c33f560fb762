package network

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

// userOfImage is the user id that the image of a hub runs as.
const userOfImage = 65532

// TestAHubIsRestoredInAContainer takes the steps of manifests/install/disaster.md for containers: after the hub's container is removed,
// its backup becomes the volume of another one. The test does this twice: with the key from standard input, as the page says for Docker,
// and with the backup from standard input, as in the pod of manifests/install/hub/restore.yaml.
func TestAHubIsRestoredInAContainer(t *testing.T) {
	s := newSite(t)
	g := NewWithT(t)
	image := "fairlead/hub:" + s.version
	volume := func(short string) string {
		t.Helper()
		docker(t.Context(), t, g, "volume", "create", "--label", s.label(), s.name(short))
		return s.name(short) + ":/var/lib/fairlead"
	}
	once := func(in []byte, args ...string) string {
		t.Helper()
		return dockerWith(t.Context(), t, g, in, append([]string{
			"run", "--rm", "--interactive", "--label", s.label(), "--network", "none", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
		}, args...)...)
	}
	serve := func(short, volume string) {
		t.Helper()
		s.start(t, short, "--network", s.name(hub), "--network-alias", "hub", "--volume", volume, image, "serve", "--advertise-host", "hub", "--metrics-bind-address", "0")
	}
	s.network(t, hub)
	serve("lost", volume("lost"))
	eventually(t, func(g Gomega) { s.kubectl(t, g, "lost", nil, "create", "configmap", "kept", "--from-literal=a=b") })

	key := []byte(once(nil, image, "backup", "keygen", "-"))
	recipient := regexp.MustCompile(`public key: (age1\w+)`).FindSubmatch(key)
	g.Expect(recipient).NotTo(BeNil())
	backup, err := exec.CommandContext(t.Context(), "docker", "exec", s.name("lost"), "/hub", "backup", "-", "--recipient", string(recipient[1])).Output()
	g.Expect(err).NotTo(HaveOccurred())
	docker(t.Context(), t, g, "rm", "--force", s.name("lost"))

	mounted := func(name string, content []byte) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		g.Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
		g.Expect(os.Chown(path, userOfImage, userOfImage)).To(Succeed(), "only root can give a file away, which is who the page is for")
		return path + ":/" + name + ":ro"
	}
	for short, restore := range map[string]func(volume string){
		"docker": func(volume string) {
			once(key, "--volume", volume, "--volume", mounted("hub.backup.age", backup), image, "restore", "/hub.backup.age", "--key", "-")
		},
		"pod": func(volume string) {
			once(backup, "--volume", volume, "--volume", mounted("hub-backup.key", key), image, "restore", "-", "--key", "/hub-backup.key")
		},
	} {
		at := volume(short)
		restore(at)
		serve(short, at)
		eventually(t, func(g Gomega) {
			g.Expect(s.kubectl(t, g, short, nil, "get", "configmap", "kept", "-o", "jsonpath={.data.a}")).To(Equal("b"))
		})
		docker(t.Context(), t, g, "rm", "--force", s.name(short))
	}
}

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/test/fleet"
)

// TestAHubIsRestoredFromABackup backs up a running hub, changes objects, loses the hub with all its data in the middle
// of a deletion, and restores it: objects deleted since the backup come back, objects created since are unclaimed, and
// nothing in a member is deleted.
func TestAHubIsRestoredFromABackup(t *testing.T) {
	g := NewWithT(t)
	f := up(t)
	data := filepath.Join(f.Dir, fleet.HubName)
	file := filepath.Join(t.TempDir(), "hub.backup")
	hub := func(what, name string) error {
		args := []string{what, "--data-dir", data, name}
		if what == "backup" {
			args = append(args, "--unsealed")
		}
		_, err := f.Run(t.Context(), "hub", args...)
		return err
	}
	// Compare names, because the number is the same while as many are still to be deleted as to be created.
	everywhere := func(want ...[]string) {
		t.Helper()
		eventually(t, func(g Gomega) {
			for _, member := range f.Members() {
				have := slices.Collect(maps.Keys(uids(t, g, f, member, "backup")))
				g.Expect(have).To(ConsistOf(slices.Concat(want...)), member)
			}
		})
	}
	apply(t, f, configMaps("backup", 1, 20))
	everywhere(backups(1, 20))

	g.Expect(hub("backup", file)).To(Succeed())
	info, err := os.Stat(file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(BeEquivalentTo(0o600), "it holds the keys of the hub")
	g.Expect(hub("backup", file)).To(MatchError(ContainSubstring("exists")), "a backup is not overwritten")
	g.Expect(hub("restore", file)).To(MatchError(ContainSubstring("in use")), "the hub is running")

	kubectl(t, g, f, fleet.HubName, append([]string{"delete", "configmaps"}, backups(1, 3)...)...)
	apply(t, f, configMaps("backup", 21, 30))
	everywhere(backups(4, 30))
	before := map[string]map[string]types.UID{}
	for _, member := range f.Members() {
		before[member] = uids(t, g, f, member, "backup")
	}

	going := backups(4, 9)
	kubectl(t, g, f, fleet.HubName, append([]string{"delete", "configmaps", "--wait=false"}, going...)...)
	g.Eventually(func(g Gomega) {
		g.Expect(uids(t, g, f, "edge-1", "backup")).NotTo(HaveLen(len(before["edge-1"])))
	}).WithTimeout(waitTimeout).WithPolling(time.Millisecond).Should(Succeed(), "the first of them is gone, and its Work is about to be")
	g.Expect(f.Kill(t.Context(), fleet.HubName)).To(Succeed())
	eventually(t, func(g Gomega) {
		g.Expect(hub("restore", file)).To(MatchError(ContainSubstring("is not empty")), "what there is may be wanted yet")
	})
	g.Expect(hub("backup", filepath.Join(t.TempDir(), "dead.backup"))).To(MatchError(ContainSubstring("not running")))
	g.Expect(os.RemoveAll(data)).To(Succeed())
	whole, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	cut := filepath.Join(t.TempDir(), "cut.backup")
	g.Expect(os.WriteFile(cut, whole[:len(whole)*9/10], 0o600)).To(Succeed())
	g.Expect(hub("restore", cut)).To(MatchError(ContainSubstring("backup")), "a part is not restored")
	g.Expect(hub("restore", file)).To(Succeed(), "and leaves the directory as it was")
	g.Expect(f.Up(t.Context())).To(Succeed(), "with agents that come back by themselves")

	everywhere(backups(1, 30))
	for _, member := range f.Members() {
		after := uids(t, g, f, member, "backup")
		for name, uid := range before[member] {
			if slices.Contains(going, name) {
				continue
			}
			g.Expect(after).To(HaveKeyWithValue(name, uid), "%s is still the same object in %s", name, member)
		}
	}
	eventually(t, func(g Gomega) {
		for _, member := range f.Members() {
			g.Expect(unclaimed(t, g, f, member)).To(BeEquivalentTo(10), "made since: no Work of the hub is about them, in %s", member)
		}
		all := applied(t, g, f, metav1.NamespaceDefault)
		for i := 1; i <= 20; i++ {
			g.Expect(all).To(HaveKeyWithValue(fmt.Sprintf("backup-%d-configmap", i), metav1.ConditionTrue))
		}
	})

	// The hub works on, and people who create the unclaimed templates again adopt their objects.
	kubectl(t, g, f, fleet.HubName, "delete", "configmap", "backup-4")
	apply(t, f, configMaps("backup", 21, 31))
	everywhere(backups(1, 3), backups(5, 31))
	eventually(t, func(g Gomega) {
		for _, member := range f.Members() {
			g.Expect(unclaimed(t, g, f, member)).To(BeZero(), member)
		}
	})
	kubectl(t, g, f, fleet.HubName, "delete", "configmaps", "-l", "test=backup")
	everywhere()
}

// unclaimed returns how many objects of a member belong to a Work that the hub does not have.
func unclaimed(t *testing.T, g Gomega, f *fleet.Fleet, member string) int32 {
	t.Helper()
	live := &clusterv1alpha1.Cluster{}
	read(t, g, f, fleet.HubName, client.ObjectKey{Name: member}, live)
	return live.Status.UnclaimedObjects
}

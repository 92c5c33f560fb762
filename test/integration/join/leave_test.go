package join

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/agent/cli"
	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/agent/registration"
	"fairlead.dev/common/contract"
	testcluster "fairlead.dev/test/cluster"
)

// agent runs a command of the agent, and returns its output.
func agent(ctx context.Context, args ...string) (string, error) {
	var out, problems bytes.Buffer
	env := cli.Environment{Out: &out, Err: &problems, SetLogger: func(logr.Logger) {}}
	if cli.Run(ctx, env, args) != 0 {
		return out.String(), errors.New(problems.String())
	}
	return out.String(), nil
}

// leave runs `agent leave --installed`, and returns its output.
func leave(ctx context.Context, kubeconfig, objects string) (string, error) {
	return agent(ctx, "leave", "--installed", "--objects", objects, "--kubeconfig", kubeconfig)
}

// TestAnInstalledAgentWithoutCredentialsLeavesNothingBehindThatItMayNeed is about the Secret of an agent; it runs
// alone, because a member has only one.
func TestAnInstalledAgentWithoutCredentialsLeavesNothingBehindThatItMayNeed(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	caches := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", caches)
	shared := testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub})
	member := shared.Client(t)
	apps, err := client.New(shared.Config, client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	meta := metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: manifest.Name, Labels: map[string]string{manifest.NameLabel: manifest.Name}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.SystemNamespace}}
	g.Expect(client.IgnoreAlreadyExists(member.Create(ctx, namespace))).To(Succeed())
	secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"agent.json": []byte(`{"cluster":"edge-1"}`), "agent.key": []byte("k")}}
	g.Expect(member.Create(ctx, secret)).To(Succeed())
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Mi")}},
	}}
	g.Expect(member.Create(ctx, claim)).To(Succeed())
	id, err := registration.MemberID(ctx, shared.Config)
	g.Expect(err).NotTo(HaveOccurred())
	record := filepath.Join(caches, "fairlead", "leaving-"+id)
	g.Expect(os.MkdirAll(record, 0o700)).To(Succeed())
	secretIs := func() error { return member.Get(ctx, client.ObjectKeyFromObject(secret), &corev1.Secret{}) }
	claimIs := func() error {
		return member.Get(ctx, client.ObjectKeyFromObject(claim), &corev1.PersistentVolumeClaim{})
	}

	for _, objects := range []string{registration.Keep, registration.Remove} {
		_, err = leave(ctx, shared.Kubeconfig, objects)
		g.Expect(err).To(MatchError(ContainSubstring("hub token create --rejoin edge-1")), "its volume may have its credentials")
		g.Expect(secretIs()).To(Succeed())
		g.Expect(claimIs()).To(Succeed())
	}

	g.Expect(member.Delete(ctx, claim)).To(Succeed())
	release := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	g.Expect(client.IgnoreNotFound(member.Patch(ctx, claim, release))).To(Succeed())
	g.Eventually(claimIs).Should(Satisfy(apierrors.IsNotFound))
	_, err = leave(ctx, shared.Kubeconfig, registration.Remove)
	g.Expect(err).To(MatchError(ContainSubstring("--objects keep")), "nobody knows what to remove")
	g.Expect(secretIs()).To(Succeed())
	out, err := leave(ctx, shared.Kubeconfig, registration.Keep)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("was never finished"))
	g.Expect(secretIs()).To(Satisfy(apierrors.IsNotFound))
	g.Expect(record).NotTo(BeADirectory())

	// It was installed by a manifest, and its Secret is empty.
	g.Expect(os.MkdirAll(record, 0o700)).To(Succeed())
	withVolume := func(volume string) *appsv1.Deployment {
		objects, err := manifest.Objects(manifest.Options{Image: "i", Volume: volume})
		g.Expect(err).NotTo(HaveOccurred())
		deployment := objects[len(objects)-1]
		g.Expect(apps.Create(ctx, deployment)).To(Succeed())
		return &appsv1.Deployment{ObjectMeta: meta}
	}
	deployment := withVolume("/srv/fairlead")
	for _, objects := range []string{registration.Keep, registration.Remove, registration.Keep} {
		_, err = leave(ctx, shared.Kubeconfig, objects)
		g.Expect(err).To(MatchError(And(ContainSubstring("directory /srv/fairlead on its node"), ContainSubstring("--replicas 1"))))
	}
	g.Expect(apps.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(Succeed())
	g.Expect(*deployment.Spec.Replicas).To(BeZero())
	pod := &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "agent", Image: "i"}}}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: "default"}}
	g.Expect(client.IgnoreAlreadyExists(member.Create(ctx, account))).To(Succeed())
	g.Expect(member.Create(ctx, pod)).To(Succeed())
	_, err = agent(ctx, "leave", "--installed", "--objects", registration.Keep, "--kubeconfig", shared.Kubeconfig, "--timeout", "10s")
	g.Expect(err).To(MatchError(And(ContainSubstring("no pod of the agent runs"), ContainSubstring("--replicas 1"))), "it does not end")
	g.Expect(member.Delete(ctx, pod, client.GracePeriodSeconds(0))).To(Succeed())
	g.Expect(apps.Delete(ctx, deployment)).To(Succeed())
	withVolume(manifest.VolumeNone)
	out, err = leave(ctx, shared.Kubeconfig, registration.Keep)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(And(ContainSubstring("was never finished"), ContainSubstring("are removed")))
	g.Expect(apps.Get(ctx, client.ObjectKeyFromObject(deployment), deployment)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))

	// An earlier command was killed after it had removed the Secrets.
	g.Expect(os.MkdirAll(record, 0o700)).To(Succeed())
	_, err = leave(ctx, shared.Kubeconfig, registration.Keep)
	g.Expect(err).To(MatchError(ContainSubstring(registration.ErrNotJoined.Error())))
	g.Expect(record).NotTo(BeADirectory(), "it may have Secrets in it")
}

// TestASecretOfAMemberRemovesNothingOfWhoeverJoinsOrLeaves runs alone, because a member has only one Secret of an
// agent.
func TestASecretOfAMemberRemovesNothingOfWhoeverJoinsOrLeaves(t *testing.T) {
	h, ctx := newHub(t), t.Context()
	h.serve()
	here := t.TempDir()
	t.Setenv("TMPDIR", here)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	victim := filepath.Join(here, "victim")
	h.g.Expect(os.Mkdir(victim, 0o700)).To(Succeed())
	kubeconfig := testcluster.Shared(t, testcluster.Options{Profile: testcluster.Hub}).Kubeconfig
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: contract.SystemNamespace}}
	h.g.Expect(client.IgnoreAlreadyExists(h.Create(ctx, namespace))).To(Succeed())
	meta := metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: manifest.Name, Labels: map[string]string{manifest.NameLabel: manifest.Name}}
	joining := []string{
		"join", h.address, "--install", "--cluster-name", "edge-1", "--token", h.created(ctx, "--cluster", "edge-1"), "--discovery-token-ca-cert-hash", h.hashes[0],
		"--kubeconfig", kubeconfig, "--ready-timeout", "100ms", "--image", "registry.example/agent:v1", "--state-volume", "none",
	}
	for _, who := range []string{`{"cluster":"../../victim"}`, `{"cluster":"../../victim","left":true}`} {
		secret := &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"agent.json": []byte(who), registration.KubeconfigFile: []byte("k")}}
		h.g.Expect(h.Create(ctx, secret)).To(Succeed())
		for _, args := range [][]string{joining, {"leave", "--installed", "--objects", registration.Keep, "--force", "--kubeconfig", kubeconfig}} {
			_, err := agent(ctx, args...)
			h.g.Expect(err).To(MatchError(ContainSubstring(registration.ErrStateDir.Error())))
			h.g.Expect(victim).To(BeADirectory())
		}
		h.g.Expect(h.Delete(ctx, secret)).To(Succeed())
	}
}

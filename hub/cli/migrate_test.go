package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const kubeFedSecret = `apiVersion: v1
kind: List
items:
- apiVersion: types.kubefed.io/v1beta1
  kind: FederatedSecret
  metadata: {name: key, namespace: shop}
  spec: {template: {data: {a: eA==}}, placement: {clusterSelector: {}}}
- apiVersion: types.kubefed.io/v1beta1
  kind: FederatedNamespace
  metadata: {name: shop, namespace: shop}
  spec: {template: {}, placement: {clusters: [{name: edge-1}]}}
- apiVersion: core.kubefed.io/v1beta1
  kind: KubeFedCluster
  metadata: {name: edge-1, namespace: kube-federation-system, labels: {tier: gold}}
  spec: {}
`

const kubeFedGizmo = `apiVersion: types.kubefed.io/v1beta1
kind: FederatedGizmo
metadata: {name: g, namespace: shop}
spec: {template: {}}
`

func TestMigrateKubeFed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	g.Expect(os.MkdirAll(filepath.Join(in, "below"), 0o750)).To(Succeed())
	write := func(name, text string) {
		g.Expect(os.WriteFile(filepath.Join(in, name), []byte(text), 0o600)).To(Succeed())
	}
	write("below/shop.yaml", kubeFedSecret)
	write("README.md", "not YAML: [")

	status, result, report := runHub(t, "migrate", "kubefed", "-f", in)
	g.Expect(status).To(Equal(ExitDone), report)
	g.Expect(result).To(HavePrefix("# hub token create --cluster edge-1 --labels tier=gold\n---\n"))
	g.Expect(result).To(And(ContainSubstring("kind: Secret\n"), ContainSubstring("clusterNames:\n      - edge-1\n")))
	g.Expect(report).To(BeEmpty())

	write("gizmo.yaml", kubeFedGizmo)
	status, result, report = runHub(t, "migrate", "kubefed", "-f", in, "-o", out)
	g.Expect(status).To(Equal(ExitNo))
	g.Expect(result).To(BeEmpty())
	g.Expect(report).To(HavePrefix("Refused: " + filepath.Join(in, "gizmo.yaml") + ": FederatedGizmo shop/g: kind: no FederatedTypeConfig says which kind"))
	g.Expect(report).To(ContainSubstring("nothing is converted: correct what is refused, or leave it out with --partial"))
	g.Expect(out).NotTo(BeADirectory())

	status, _, report = runHub(t, "migrate", "kubefed", "-f", in, "-o", out, "--partial")
	g.Expect(status).To(Equal(ExitNo))
	g.Expect(report).To(ContainSubstring("the rest is converted"))
	objects, err := os.ReadFile(filepath.Join(out, objectsFile))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(objects)).To(And(ContainSubstring("kind: Secret\n"), Not(ContainSubstring("Gizmo"))))
	script, err := os.ReadFile(filepath.Join(out, clustersFile))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(script)).To(Equal("#!/bin/sh\nset -eu\nhub token create --cluster edge-1 --labels tier=gold\n"))

	g.Expect(os.Chmod(filepath.Join(out, objectsFile), 0o644)).To(Succeed())
	status, _, report = runHub(t, "migrate", "kubefed", "-f", in, "-o", out, "--partial")
	g.Expect(status).To(Equal(ExitNo), report)
	info, err := os.Stat(filepath.Join(out, objectsFile))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)), "there are Secrets in it")

	write("bad.yaml", "kind: [")
	status, _, report = runHub(t, "migrate", "kubefed", "-f", in, "--partial")
	g.Expect(status).To(Equal(ExitFailed), report)
	g.Expect(report).To(ContainSubstring("bad.yaml: it holds no object in YAML"))

	status, _, report = runHub(t, "migrate", "kubefed")
	g.Expect(status).To(Equal(ExitFailed))
	g.Expect(report).To(ContainSubstring("name a file or a directory with -f"))
	status, _, report = runHub(t, "migrate", "kubefed", "--replicas", "some")
	g.Expect(status).To(Equal(ExitFailed))
	g.Expect(report).To(ContainSubstring(`--replicas is "some"; it must be freeze or weights`))
}

func runHub(t *testing.T, args ...string) (status int, result, report string) {
	t.Helper()
	var e execution
	status = e.run(t.Context(), args...)
	return status, e.out.String(), e.err.String()
}

// tutorial is the folder of the page on migrating.
const tutorial = "../../manifests/tutorials/migrating/"

func TestMigrateKarmada(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const export = tutorial + "karmada.yaml"
	status, result, report := runHub(t, "migrate", "karmada", "-f", export)
	g.Expect(status).To(Equal(ExitDone), report)
	g.Expect(result).To(HavePrefix("# hub token create --cluster berlin --labels site=shop --region europe\n---\n"))
	g.Expect(result).To(And(ContainSubstring("kind: ResourceBinding\n"), Not(ContainSubstring("kind: Work\n")), Not(ContainSubstring("permanent-id"))))
	g.Expect(report).To(Equal("Note: " + export + ": Cluster berlin: spec.syncMode: the cluster gets an agent, so nothing dials the cluster any more.\n"))

	status, result, report = runHub(t, "migrate", "karmada", "-f", export, "--dry-run")
	g.Expect(status).To(Equal(ExitDone), report)
	g.Expect(result).To(Equal("berlin: Deployment shop/till: nothing changes\n"))

	text, err := os.ReadFile(export)
	g.Expect(err).NotTo(HaveOccurred())
	changed := filepath.Join(t.TempDir(), "changed.yaml")
	g.Expect(os.WriteFile(changed, bytes.Replace(text, []byte("till:1.0"), []byte("till:2.0"), 1), 0o600)).To(Succeed())
	status, result, report = runHub(t, "migrate", "karmada", "-f", changed, "--dry-run")
	g.Expect(status).To(Equal(ExitNo), report)
	g.Expect(result).To(And(HavePrefix("berlin: Deployment shop/till: it changes\n--- sent\n"), ContainSubstring("\n+      - image: registry.example.com/till:2.0\n")))
	g.Expect(report).To(ContainSubstring("1 of 1 objects in members would not stay as they are"))

	same := filepath.Join(t.TempDir(), "kubeconfig")
	g.Expect(os.WriteFile(same, []byte("{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: 'https://old:5443'}}]}"), 0o600)).To(Succeed())
	for line, want := range map[string]string{
		"":                                    "either --kubeconfig of the old control plane, or -f",
		"--kubeconfig x -f y":                 "either --kubeconfig of the old control plane, or -f",
		"--kubeconfig /absent":                "reading --kubeconfig /absent",
		"-f " + export + " --dry-run -o x":    "--dry-run writes no files",
		"-f " + export + " --dry-run --apply": "--dry-run changes nothing; leave out --apply",
		"--kubeconfig " + same + " --apply --hub-kubeconfig " + same: "--apply would write to the old control plane itself, at https://old:5443",
		"-f " + export + " --apply --hub-kubeconfig /absent":         "there is no kubeconfig /absent",
		"-f " + export + " --cluster rome":                           "Cluster rome: there is no such cluster; correct --cluster",
	} {
		_, _, report = runHub(t, append([]string{"migrate", "karmada"}, strings.Fields(line)...)...)
		g.Expect(report).To(ContainSubstring(want), line)
	}
}

// TestMigrateTheTutorial runs the commands shown on the page: each line after a command is printed, in this order; an
// ellipsis stands for omitted lines.
func TestMigrateTheTutorial(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(tutorial + "README.md")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	const root, prompt = "../../", "$ hub "
	commands := 0
	for line := range strings.Lines(string(page)) {
		if command, shown := strings.CutPrefix(strings.TrimSpace(line), prompt); shown {
			// Commands that need a hub are not run; --help checks that the command and its flags exist.
			status, _, report := runHub(t, append(strings.Fields(command), "--help")...)
			NewWithT(t).Expect(status).To(Equal(ExitDone), "%s: %s", command, report)
		}
	}
	for block := range strings.SplitSeq(string(page), "```") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		if !strings.HasPrefix(lines[0], prompt+"migrate ") || strings.Contains(lines[0], " --apply") {
			continue // --apply needs a hub
		}
		commands++
		t.Run(lines[0], func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			command := strings.ReplaceAll(strings.TrimPrefix(lines[0], prompt), "manifests/", root+"manifests/")
			_, result, report := runHub(t, strings.Fields(strings.ReplaceAll(command, "-o converted", "-o "+t.TempDir()))...)
			rest := strings.ReplaceAll(report+result, root, "")
			for i, line := range lines[1:] {
				if line == "…" {
					continue
				}
				before, after, found := strings.Cut(rest, line+"\n")
				g.Expect(found).To(BeTrue(), "%s\nis not in\n%s", line, rest)
				if lines[i] != "…" {
					g.Expect(before).To(BeEmpty())
				}
				rest = after
			}
			if lines[len(lines)-1] != "…" {
				g.Expect(rest).To(BeEmpty())
			}
		})
	}
	NewWithT(t).Expect(commands).To(Equal(4))
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const websiteRules = `# Rules for a kind that nobody else knows.
---
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata:
  name: websites
spec:
  target:
    apiVersion: example.com/v1
    kind: Website
  customizations:
    replicaResource:
      luaScript: |
        function GetReplicas(obj)
          print("servers:", obj.spec.servers)
          return obj.spec.servers
        end
    replicaRevision:
      luaScript: |
        function ReviseReplica(obj, desiredReplica)
          obj.spec.servers = desiredReplica
          return obj
        end
    retention:
      luaScript: |
        function Retain(desiredObj, observedObj)
          desiredObj.spec.address = observedObj.spec.address
          return desiredObj
        end
    statusAggregation:
      luaScript: |
        function AggregateStatus(desiredObj, statusItems)
          local up = 0
          for _, item in ipairs(statusItems) do
            up = up + item.status.up
          end
          desiredObj.status = {up = up}
          return desiredObj
        end
`

// websites writes the files that the tests below refer to.
func websites(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	object := "apiVersion: example.com/v1\nkind: Website\nmetadata: {name: shop, namespace: default}\n"
	for name, text := range map[string]string{
		"rules": websiteRules,
		"other": strings.ReplaceAll(websiteRules, "name: websites", "name: zebras"),
		"empty": strings.Replace(websiteRules, "obj.spec.servers = desired", "obj.spec.servers == desired", 1),
		"web":   object + "spec: {servers: 3, volume: {}}\n",
		"live":  object + "spec: {servers: 3, address: 192.0.2.1}\nstatus: {up: 2, conditions: [{type: Ready, status: \"False\"}]}\n",
		"items": "- {clusterName: edge-1, status: {up: 2}}\n- {clusterName: edge-2, status: {up: 1}}\n",
		"binding": "apiVersion: work.karmada.io/v1alpha2\nkind: ClusterResourceBinding\nmetadata: {name: shop}\n" +
			"status: {aggregatedStatus: [{clusterName: edge-1, status: {up: 5}}]}\n",
		"deployment": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 2}\n",
	} {
		NewWithT(t).Expect(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)).To(Succeed())
	}
	return folder
}

// interpret runs the command in a folder: an argument that names a file in it is replaced by its path.
func interpret(t *testing.T, folder, line string) (e *execution, status int) {
	t.Helper()
	args := []string{"interpret"}
	for word := range strings.FieldsSeq(line) {
		if path := filepath.Join(folder, word); !strings.HasPrefix(word, "-") {
			if _, err := os.Stat(path); err == nil {
				word = path
			}
		}
		args = append(args, word)
	}
	e = &execution{}
	return e, e.run(t.Context(), args...)
}

func TestInterpretAnswers(t *testing.T) {
	t.Parallel()
	folder := websites(t)
	for _, c := range []struct{ line, answer, says string }{
		{"-f rules --operation InterpretReplica --desired-file web", "replicas: 3\n", "servers:\t3"},
		{"-f rules --operation interpretreplica --desired-file web", "replicas: 3\n", "answered by the rules of"},
		{
			"-f rules --operation ReviseReplica --desired-file web --desired-replica 5 --diff",
			"--- given\n+++ answer\n@@ -4,5 +4,5 @@\n   name: shop\n   namespace: default\n spec:\n-  servers: 3\n+  servers: 5\n   volume: {}\n", "",
		},
		{
			"-f rules --operation ReviseReplica --desired-file web --desired-replica 0",
			"apiVersion: example.com/v1\nkind: Website\nmetadata:\n  name: shop\n  namespace: default\nspec:\n  servers: 0\n  volume: {}\n", "",
		},
		{"-f rules --operation ReviseReplica --desired-file web --desired-replica 3 --diff", "# nothing changes\n", ""},
		{
			"-f rules --operation Retain --desired-file web --observed-file live --diff",
			"--- given\n+++ answer\n@@ -4,5 +4,6 @@\n   name: shop\n   namespace: default\n spec:\n+  address: 192.0.2.1\n   servers: 3\n   volume: {}\n", "",
		},
		{
			"-f rules --operation AggregateStatus --desired-file web --status-file items --diff",
			"--- given\n+++ answer\n@@ -6,3 +6,5 @@\n spec:\n   servers: 3\n   volume: {}\n+status:\n+  up: 3\n", "",
		},
		{
			"-f rules --operation AggregateStatus --desired-file web --status-file binding --diff",
			"--- given\n+++ answer\n@@ -6,3 +6,5 @@\n spec:\n   servers: 3\n   volume: {}\n+status:\n+  up: 5\n", "",
		},
		{"-f rules --operation InterpretHealth --observed-file live", "Unhealthy\n", "answered by the conventions"},
		{"-f rules --operation InterpretReplica --desired-file deployment", "replicas: 2\n", "answered by the native rules"},
		{"--operation InterpretReplica --desired-file deployment", "replicas: 2\n", "answered by the native rules"},
		{"-f rules --check", "websites: replicaResource (function GetReplicas): ok\n" +
			"websites: replicaRevision (function ReviseReplica): ok\n" +
			"websites: retention (function Retain): ok\n" +
			"websites: statusAggregation (function AggregateStatus): ok\n", ""},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			e, status := interpret(t, folder, c.line)
			g.Expect(status).To(BeZero(), e.err.String())
			g.Expect(e.out.String()).To(Equal(c.answer))
			g.Expect(e.err.String()).To(ContainSubstring(c.says))
		})
	}
}

func TestInterpretSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	folder := websites(t)
	for _, c := range []struct{ line, says string }{
		{"--operation Guess", "--operation is \"Guess\"; it must be one of InterpretReplica, "},
		{"", "--operation is \"\"; it must be one of"},
		{"--operation Retain --desired-file web", "Retain takes exactly --desired-file and --observed-file"},
		{"--operation InterpretHealth --desired-file web", "InterpretHealth takes exactly --observed-file"},
		{"--operation InterpretHealth --observed-file web --desired-replica 1", "InterpretHealth takes exactly --observed-file"},
		{"--operation ReviseReplica --desired-file web", "ReviseReplica takes exactly --desired-file and --desired-replica"},
		{"--operation ReviseReplica --desired-file web --desired-replica -1", "--desired-replica is negative"},
		{"--operation InterpretHealth --observed-file live --diff", "InterpretHealth changes none"},
		{"--operation InterpretHealth --observed-file items", "it holds no object in YAML"},
		{"--operation InterpretHealth --observed-file none", "no such file"},
		{"--operation InterpretReplica --desired-file web", "no rule InterpretReplica for Website of example.com/v1"},
		{"--operation AggregateStatus --desired-file web --status-file web", "neither a binding nor a list of items"},
		{"-f web --operation InterpretHealth --observed-file live", "it holds a Website; -f takes ResourceInterpreterCustomizations"},
		{"--check", "name a file with ResourceInterpreterCustomizations with -f"},
		{"-f rules --check --operation Retain", "--check asks nothing"},
		{"-f empty --operation ReviseReplica --desired-file web --desired-replica 1", "line 2: parse error near \"==\""},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			e, status := interpret(t, folder, c.line)
			NewWithT(t).Expect(status).To(Equal(1))
			NewWithT(t).Expect(e.lastLine()).To(ContainSubstring(c.says))
			NewWithT(t).Expect(e.out.String()).To(BeEmpty())
		})
	}
}

func TestInterpretChecksEveryScript(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	folder := websites(t)
	e, status := interpret(t, folder, "-f empty -f other --check")
	g.Expect(status).To(Equal(1))
	g.Expect(e.out.String()).To(HavePrefix("websites: replicaResource (function GetReplicas): ok\n" +
		"websites: replicaRevision (function ReviseReplica): line 2: parse error near \"==\"\n" +
		"    obj.spec.servers == desiredReplica\n"))
	g.Expect(e.out.String()).To(ContainSubstring("zebras: retention (function Retain): not used, because " +
		"ResourceInterpreterCustomization \"websites\" has one for the same kind and its name comes first\n"))
	e, status = interpret(t, folder, "-f rules -f other --check")
	g.Expect(status).To(BeZero(), "one that is not used is no mistake: %s", e.err.String())
}

// TestInterpretTheTutorial runs the commands shown in the README.
func TestInterpretTheTutorial(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	const folder = "../../manifests/tutorials/website"
	e, status := interpret(t, folder, "-f rules.yaml --check")
	g.Expect(status).To(BeZero(), e.out.String())
	g.Expect(strings.Count(e.out.String(), ": ok\n")).To(Equal(6), e.out.String())
	e, _ = interpret(t, folder, "-f rules.yaml --operation InterpretHealth --observed-file live.yaml")
	g.Expect(e.out.String()).To(Equal("Unhealthy\n"), e.err.String())
	e, _ = interpret(t, folder, "-f rules.yaml --operation Retain --desired-file website.yaml --observed-file live.yaml --diff")
	g.Expect(e.out.String()).To(ContainSubstring("\n+  address: 192.0.2.1\n"), e.err.String())
}

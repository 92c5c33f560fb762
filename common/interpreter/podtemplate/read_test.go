package podtemplate_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"fairlead.dev/common/interpreter/podtemplate"
)

// large is a pod with every field that is read.
const large = `{
	"serviceAccountName": "web", "priorityClassName": "high", "nodeSelector": {"disk": "ssd"}, "overhead": {"cpu": "10m"},
	"resources": {"requests": {"memory": "1Gi"}},
	"tolerations": [{"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 3}, {}],
	"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
		{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}]}, {"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}
	]}, "preferredDuringSchedulingIgnoredDuringExecution": []}},
	"imagePullSecrets": [{"name": "registry"}],
	"initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}, {"name": "j", "envFrom": [{"configMapRef": {"name": "j"}}]}],
	"containers": [{"name": "c", "image": "nginx", "resources": {"requests": {"cpu": "250m"}, "limits": {"memory": "64Mi", "cpu": 2}},
		"env": [{"name": "A", "value": "b"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}, {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "m"}}}],
		"envFrom": [{"secretRef": {"name": "e"}}]}],
	"ephemeralContainers": [{"name": "e", "envFrom": [{"configMapRef": {"name": "x"}}]}],
	"volumes": [
		{"name": "a", "configMap": {"name": "m"}}, {"name": "b", "secret": {"secretName": "s"}}, {"name": "c", "persistentVolumeClaim": {"claimName": "d"}}, {"name": "d", "emptyDir": {}},
		{"name": "e", "projected": {"sources": [{"configMap": {"name": "p"}}, {"secret": {"name": "q"}}]}}, {"name": "f", "azureFile": {"secretName": "azure"}},
		{"name": "g", "cephfs": {"secretRef": {"name": "ceph"}}}, {"name": "h", "csi": {"nodePublishSecretRef": {"name": "csi"}}}, {"name": "i", "csi": {}},
		{"name": "j", "cinder": {"secretRef": {"name": "cinder"}}}, {"name": "k", "flexVolume": {"secretRef": {"name": "flex"}}}, {"name": "l", "rbd": {"secretRef": {"name": "rbd"}}},
		{"name": "m", "scaleIO": {"secretRef": {"name": "scaleio"}}}, {"name": "n", "iscsi": {"secretRef": {"name": "iscsi"}}}, {"name": "o", "storageos": {"secretRef": {"name": "storageos"}}}
	]
}`

// FuzzRead checks that Read misses nothing that matters: a fully converted pod has the same requirements.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{}`))
	f.Add([]byte(large))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var spec map[string]any
		whole := &corev1.PodSpec{}
		if kjson.Unmarshal(raw, &spec) != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(spec, whole) != nil {
			return
		}
		read, err := podtemplate.Read(spec)
		if err != nil {
			t.Skip(err) // it may be more exact about types
		}
		if got, want := podtemplate.Dependencies(read, "shop"), podtemplate.Dependencies(whole, "shop"); !equality.Semantic.DeepEqual(got, want) {
			t.Fatalf("of %s the dependencies are %v and not %v", raw, got, want)
		}
		if got, want := podtemplate.Requirements(read), podtemplate.Requirements(whole); !equality.Semantic.DeepEqual(got, want) {
			got, _ := json.Marshal(got)
			want, _ := json.Marshal(want)
			t.Fatalf("of %s the requirements are %s and not %s", raw, got, want)
		}
	})
}

func TestWhatIsReadIsThere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	var spec map[string]any
	g.Expect(kjson.Unmarshal([]byte(large), &spec)).To(Succeed())
	pod, err := podtemplate.Read(spec)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(podtemplate.Dependencies(pod, "shop")).To(HaveLen(19))
	requirements := podtemplate.Requirements(pod)
	g.Expect(requirements.PriorityClassName).To(Equal("high"))
	g.Expect(requirements.ResourceRequest.Cpu().String()).To(Equal("1260m"))
	g.Expect(requirements.ResourceRequest.Memory().String()).To(Equal("1Gi"))
	g.Expect(requirements.NodeClaim.HardNodeAffinity.NodeSelectorTerms).To(HaveLen(2))
	g.Expect(requirements.NodeClaim.Tolerations).To(HaveLen(2))
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ spec, want string }{
		"containers that are none":          {`{"containers": "none"}`, "containers is no list"},
		"a container that is none":          {`{"containers": ["none"]}`, "containers is no list of objects"},
		"a name that is a number":           {`{"imagePullSecrets": [{"name": 3}]}`, "name is no text"},
		"volumes that are one":              {`{"volumes": {"name": "v"}}`, "volumes is no list"},
		"an amount that is none":            {`{"containers": [{"resources": {"requests": {"cpu": "much"}}}]}`, "cpu is no quantity"},
		"an amount of too many digits":      {`{"containers": [{"resources": {"requests": {"cpu": "1e999999999"}}}]}`, "cpu is no quantity"},
		"an amount of too many digits, too": {`{"containers": [{"resources": {"requests": {"cpu": "1E-999999999"}}}]}`, "cpu is no quantity"},
		"an amount that is true":            {`{"overhead": {"memory": true}}`, "memory is no quantity"},
		"a node selector of numbers":        {`{"nodeSelector": {"disk": 1}}`, "disk is no text"},
		"a time that is no number":          {`{"tolerations": [{"tolerationSeconds": "3"}]}`, "tolerationSeconds is no number"},
		"an affinity that is a list":        {`{"affinity": []}`, "affinity is no object"},
		"a term of an affinity with a null": {`{"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [{"values": [null]}]}]}}}}`, "values is no list of texts"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var spec map[string]any
			g.Expect(kjson.Unmarshal([]byte(tt.spec), &spec)).To(Succeed())
			_, err := podtemplate.Read(spec)
			g.Expect(err).To(MatchError(tt.want))
		})
	}
}

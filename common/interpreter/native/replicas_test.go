package native_test

import (
	"testing"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	workv1alpha2 "fairlead.dev/common/api/work/v1alpha2"
	"fairlead.dev/common/interpreter/native"
)

func TestReplicas(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		template  *unstructured.Unstructured
		want      int32
		wantError bool
	}{
		"a Deployment":                        {made("apps/v1", "Deployment", object{"spec": object{"replicas": int64(3)}}), 3, false},
		"a Deployment that does not say":      {made("apps/v1", "Deployment", object{"spec": object{}}), 0, false},
		"a Deployment without a spec":         {made("apps/v1", "Deployment", object{}), 0, false},
		"a Deployment of too many":            {made("apps/v1", "Deployment", object{"spec": object{"replicas": int64(1) << 40}}), 0, true},
		"a Deployment of another shape":       {made("apps/v1", "Deployment", object{"spec": object{"template": object{"spec": object{"containers": "none"}}}}), 0, true},
		"a ReplicaSet":                        {made("apps/v1", "ReplicaSet", object{"spec": object{"replicas": int64(2)}}), 2, false},
		"a StatefulSet":                       {made("apps/v1", "StatefulSet", object{"spec": object{"replicas": int64(2)}}), 2, false},
		"a ReplicationController":             {made("v1", "ReplicationController", object{"spec": object{"replicas": int64(2)}}), 2, false},
		"a Job runs so many at once":          {made("batch/v1", "Job", object{"spec": object{"parallelism": int64(2), "completions": int64(9)}}), 2, false},
		"a Job never runs more than it needs": {made("batch/v1", "Job", object{"spec": object{"parallelism": int64(5), "completions": int64(3)}}), 3, false},
		"a Job without completions":           {made("batch/v1", "Job", object{"spec": object{"parallelism": int64(5)}}), 5, false},
		"a Job that does not say":             {made("batch/v1", "Job", object{"spec": object{"completions": int64(5)}}), 0, false},
		"a Pod":                               {made("v1", "Pod", object{"spec": object{}}), 1, false},
		"a Pod of another shape":              {made("v1", "Pod", object{"spec": object{"containers": "none"}}), 0, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			replicas, requirements, err := native.New().Replicas(t.Context(), tt.template)
			g.Expect(err != nil).To(Equal(tt.wantError))
			g.Expect(replicas).To(Equal(tt.want))
			g.Expect(requirements).To(BeNil())
		})
	}
}

func TestRequirements(t *testing.T) {
	t.Parallel()
	resources := func(requests, limits object) object {
		return object{"resources": object{"requests": requests, "limits": limits}}
	}
	sidecar := func(cpu string) object {
		c := resources(object{"cpu": cpu}, nil)
		c["restartPolicy"] = "Always"
		return c
	}
	list := func(pairs ...string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return out
	}
	tests := map[string]struct {
		pod  object
		want *workv1alpha2.ReplicaRequirements
	}{
		"nothing asked for is no requirements": {object{"containers": []any{object{"name": "a"}}, "priorityClassName": "high"}, nil},
		"containers are added up": {
			object{"containers": []any{resources(object{"cpu": "100m", "memory": "1Gi"}, nil), resources(object{"cpu": "1"}, nil)}, "priorityClassName": "high"},
			&workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "1100m", "memory", "1Gi"), PriorityClassName: "high"},
		},
		"a limit stands in for a request": {
			object{"containers": []any{resources(object{"cpu": "100m"}, object{"cpu": "2", "memory": "1Gi"})}},
			&workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "100m", "memory", "1Gi")},
		},
		"the largest init container counts if it is more": {
			object{"containers": []any{resources(object{"cpu": "1", "memory": "1Gi"}, nil)}, "initContainers": []any{resources(object{"cpu": "3"}, nil), resources(object{"cpu": "2", "memory": "512Mi"}, nil)}},
			&workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "3", "memory", "1Gi")},
		},
		"a sidecar runs along with the containers": {
			object{"containers": []any{resources(object{"cpu": "1"}, nil)}, "initContainers": []any{sidecar("500m"), resources(object{"cpu": "1200m"}, nil)}},
			&workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "1700m")},
		},
		"a sidecar that comes after an init container does not run along with that": {
			object{"containers": []any{resources(object{"cpu": "1"}, nil)}, "initContainers": []any{resources(object{"cpu": "1600m"}, nil), sidecar("500m")}},
			&workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "1600m")},
		},
		"what the pod asks for as a whole counts": {
			object{"containers": []any{resources(object{"cpu": "1", "memory": "1Gi"}, nil)}, "resources": object{"requests": object{"cpu": "3"}}, "overhead": object{"cpu": "100m"}},
			&workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "3100m", "memory", "1Gi")},
		},
		"amounts may be numbers": {
			object{"containers": []any{resources(object{"cpu": int64(2), "memory": 1.5e9}, nil)}},
			&workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "2", "memory", "1500000000")},
		},
		"the overhead comes on top": {
			object{"containers": []any{resources(object{"cpu": "1"}, nil)}, "overhead": object{"cpu": "100m"}},
			&workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "1100m")},
		},
		"what is less than 0 hides nothing that others ask for": {
			object{
				"containers":     []any{resources(object{"cpu": "2", "memory": "1Gi"}, nil), resources(object{"cpu": "-1000"}, object{"memory": "-1Gi"})},
				"initContainers": []any{sidecar("-1"), resources(object{"cpu": "-3"}, nil)}, "resources": object{"requests": object{"memory": "-2Gi"}}, "overhead": object{"cpu": "-1"},
			},
			&workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "2", "memory", "1Gi")},
		},
		"what is too much for a number is the largest": { // the library overflows to a negative number
			object{"containers": []any{resources(object{"cpu": "9300000000000000.0001", "memory": "5E"}, nil), resources(object{"memory": "5E"}, nil)}},
			&workv1alpha2.ReplicaRequirements{ResourceRequest: list("cpu", "9223372036854775807m", "memory", "9223372036854775807")},
		},
		"what is less than 0 is dropped": {object{"containers": []any{resources(object{"cpu": "-1000", "memory": int64(-1)}, nil)}}, nil},
		"what is 0 is dropped":           {object{"containers": []any{resources(object{"cpu": "0", "memory": "0"}, nil)}}, nil},
		"other resources count": {
			object{"containers": []any{resources(object{"example.com/gpu": "2", "ephemeral-storage": "1Gi"}, nil)}},
			&workv1alpha2.ReplicaRequirements{ResourceRequest: list("example.com/gpu", "2", "ephemeral-storage", "1Gi")},
		},
		"where it can run is part of it": {
			object{
				"nodeSelector": object{"disk": "ssd"},
				"tolerations":  []any{object{"key": "edge", "operator": "Exists"}},
				"affinity": object{"nodeAffinity": object{"requiredDuringSchedulingIgnoredDuringExecution": object{"nodeSelectorTerms": []any{
					object{"matchFields": []any{object{"key": "metadata.name", "operator": "In", "values": []any{"n"}}}},
				}}}},
			},
			&workv1alpha2.ReplicaRequirements{NodeClaim: &workv1alpha2.NodeClaim{
				NodeSelector: map[string]string{"disk": "ssd"},
				Tolerations:  []corev1.Toleration{{Key: "edge", Operator: corev1.TolerationOpExists}},
				HardNodeAffinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
					{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n"}}}},
				}},
			}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			for _, template := range []*unstructured.Unstructured{
				made("apps/v1", "Deployment", object{"spec": object{"template": object{"spec": tt.pod}}}),
				made("apps/v1", "ReplicaSet", object{"spec": object{"template": object{"spec": tt.pod}}}),
				made("apps/v1", "StatefulSet", object{"spec": object{"template": object{"spec": tt.pod}}}),
				made("v1", "ReplicationController", object{"spec": object{"template": object{"spec": tt.pod}}}),
				made("batch/v1", "Job", object{"spec": object{"template": object{"spec": tt.pod}}}),
				made("v1", "Pod", object{"spec": tt.pod}),
			} {
				before := template.DeepCopy()
				_, got, err := native.New().Replicas(t.Context(), template)
				g.Expect(err).NotTo(HaveOccurred())
				if tt.want == nil {
					g.Expect(got).To(BeNil())
				} else {
					g.Expect(got).To(BeComparableTo(tt.want))
				}
				g.Expect(template).To(Equal(before))
			}
		})
	}
}

func TestRequirementsAreWrittenInOneWay(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	write := func(cpu, memory string) [2]string {
		_, r, err := native.New().Replicas(t.Context(), made("v1", "Pod", object{"spec": object{"containers": []any{object{"resources": object{"requests": object{"cpu": cpu, "memory": memory}}}}}}))
		g.Expect(err).NotTo(HaveOccurred())
		return [2]string{r.ResourceRequest.Cpu().String(), r.ResourceRequest.Memory().String()}
	}
	g.Expect(write("0.5", "1073741824")).To(Equal([2]string{"500m", "1Gi"}))
	g.Expect(write("500m", "1Gi")).To(Equal([2]string{"500m", "1Gi"}))
	g.Expect(write("2000m", "1024Mi")).To(Equal([2]string{"2", "1Gi"}))
}

func TestReviseReplicas(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		obj  *unstructured.Unstructured
		want object
	}{
		"a Deployment":                       {made("apps/v1", "Deployment", object{"spec": object{"replicas": int64(3), "paused": true}}), object{"replicas": int64(7), "paused": true}},
		"a ReplicaSet":                       {made("apps/v1", "ReplicaSet", object{"spec": object{"replicas": int64(3)}}), object{"replicas": int64(7)}},
		"a StatefulSet":                      {made("apps/v1", "StatefulSet", object{"spec": object{"replicas": int64(0)}}), object{"replicas": int64(7)}},
		"a ReplicationController":            {made("v1", "ReplicationController", object{"spec": object{"replicas": int64(1)}}), object{"replicas": int64(7)}},
		"a Job":                              {made("batch/v1", "Job", object{"spec": object{"parallelism": int64(3), "completions": int64(9)}}), object{"parallelism": int64(7), "completions": int64(9)}},
		"a field that is not there stays so": {made("apps/v1", "Deployment", object{"spec": object{"paused": true}}), object{"paused": true}},
		"a field that is no number stays so": {made("apps/v1", "Deployment", object{"spec": object{"replicas": "3"}}), object{"replicas": "3"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			before := tt.obj.DeepCopy()
			out, err := native.New().ReviseReplicas(t.Context(), tt.obj, 7)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out.Object["spec"]).To(BeComparableTo(tt.want))
			g.Expect(tt.obj).To(Equal(before), "the object is not changed")
			g.Expect(out).NotTo(BeIdenticalTo(tt.obj), "the caller may change the result")
		})
	}
}

package owned_test

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/hub/people/pods/owned"
)

// by returns the metadata of an object with a controller.
func by(uid types.UID, kind string, controller types.UID) metav1.ObjectMeta {
	return metav1.ObjectMeta{UID: uid, OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, UID: controller, Controller: new(true)}}}
}

// read returns a pod as it is read from a member.
func read(p *corev1.Pod) *owned.Object {
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	out := &owned.Object{}
	if err := json.Unmarshal(raw, out); err != nil {
		panic(err)
	}
	return out
}

func TestPodsAreFoundByTheirOwners(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	direct := corev1.Pod{ObjectMeta: by("p1", "StatefulSet", "web")}
	through := corev1.Pod{ObjectMeta: by("p2", "ReplicaSet", "rs")}
	others := corev1.Pod{ObjectMeta: by("p3", "ReplicaSet", "rs-of-others")}
	alone := corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "p4"}}
	borrowed := corev1.Pod{ObjectMeta: by("p5", "ReplicaSet", "x")}
	borrowed.OwnerReferences[0] = metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", UID: "web"} // an owner that is not the controller
	circle := corev1.Pod{ObjectMeta: by("p6", "Job", "a")}
	var all []owned.Candidate
	for _, pod := range []corev1.Pod{direct, through, others, alone, borrowed, circle} {
		all = append(all, owned.CandidateOf(read(&pod)))
	}

	tree := owned.NewTree("web")
	g.Expect(tree.Unknown(all)).To(Equal([]schema.GroupKind{{Group: "apps", Kind: "Job"}, {Group: "apps", Kind: "ReplicaSet"}}))
	for _, of := range []metav1.ObjectMeta{by("rs", "Deployment", "web"), by("rs-of-others", "Deployment", "other"), by("a", "Job", "b"), by("b", "Job", "a")} {
		tree.Add(&of)
	}
	g.Expect(tree.Unknown(all)).To(Equal([]schema.GroupKind{{Group: "apps", Kind: "Deployment"}}), "what is above the others' is not known")
	var names []string
	for i := range all {
		if tree.Owns(&all[i]) {
			names = append(names, all[i].UID)
		}
	}
	g.Expect(names).To(Equal([]string{"p1", "p2"}))
	g.Expect(owned.NewTree("p4").Owns(&all[3])).To(BeTrue(), "an application that is a pod")
}

func TestHowPodsFare(t *testing.T) {
	t.Parallel()
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	ended := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
	}
	for name, tc := range map[string]struct {
		phase      corev1.PodPhase
		init, main []corev1.ContainerStatus
		deleted    bool
		want       string
		whole      bool
	}{
		"one that runs":                    {phase: "Running", main: []corev1.ContainerStatus{{Name: "app", Ready: true, State: running}}, want: "Running", whole: true},
		"one that is not ready":            {phase: "Running", main: []corev1.ContainerStatus{{Name: "app", State: running}}, want: "Running"},
		"one that restarts again":          {phase: "Running", main: []corev1.ContainerStatus{{Name: "app", RestartCount: 4, State: waiting("CrashLoopBackOff"), LastTerminationState: ended(1, "Error")}}, want: "CrashLoopBackOff"},
		"one without an image":             {phase: "Pending", main: []corev1.ContainerStatus{{Name: "app", State: waiting("ImagePullBackOff")}}, want: "ImagePullBackOff"},
		"one that is done":                 {phase: "Succeeded", main: []corev1.ContainerStatus{{Name: "app", State: ended(0, "Completed")}}, want: "Completed", whole: true},
		"one that was killed":              {phase: "Failed", main: []corev1.ContainerStatus{{Name: "app", State: ended(137, "")}}, want: "ExitCode:137"},
		"one that goes":                    {phase: "Running", main: []corev1.ContainerStatus{{Name: "app", Ready: true, State: running}}, deleted: true, want: "Terminating"},
		"one whose first container is on":  {phase: "Pending", init: []corev1.ContainerStatus{{Name: "prepare", State: running}}, want: "Init:0/1"},
		"one whose first container failed": {phase: "Pending", init: []corev1.ContainerStatus{{Name: "prepare", State: ended(2, "Error")}}, want: "Init:Error"},
		"one that waits for a node":        {phase: "Pending", want: "Pending"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: "web-1", CreationTimestamp: metav1.NewTime(time.Unix(1, 0))},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}},
				Status:     corev1.PodStatus{Phase: tc.phase, InitContainerStatuses: tc.init, ContainerStatuses: tc.main},
			}
			if tc.init != nil {
				p.Spec.InitContainers = []corev1.Container{{Name: "prepare"}}
			}
			if tc.deleted {
				p.DeletionTimestamp = new(metav1.Now())
			}
			g := NewWithT(t)
			got := owned.Of(read(p))
			g.Expect(got.State).To(Equal(tc.want))
			g.Expect(got.Whole).To(Equal(tc.whole))
			g.Expect(got.Main()).To(Equal(1))
			g.Expect(got.Default).To(Equal("app"))
		})
	}
}

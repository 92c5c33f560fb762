package view

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	start := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }
	on := corev1.ObjectReference{Kind: "Work", Namespace: "karmada-es-a", Name: "web"}
	events := []corev1.Event{
		{InvolvedObject: on, Reason: "Third", Series: &corev1.EventSeries{Count: 5, LastObservedTime: metav1.NewMicroTime(at(3))}, EventTime: metav1.NewMicroTime(at(0))},
		{InvolvedObject: on, Reason: "First", Type: "Warning", EventTime: metav1.NewMicroTime(at(1)), ReportingController: "agent"},
		{InvolvedObject: corev1.ObjectReference{Kind: "Cluster", Name: "a"}, Reason: "Second", LastTimestamp: metav1.NewTime(at(2)), Count: 2, Source: corev1.EventSource{Component: "hub"}},
		{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(4))}, Reason: "Fourth"},
	}
	out := eventsFrom(events, func(o Object) string { return o.Namespace })
	g.Expect(out).To(HaveLen(4))
	g.Expect(out[0]).To(Equal(Event{
		At: at(1), Warning: true, Object: Object{"Work", "karmada-es-a", "web"}, Cluster: "karmada-es-a", Reason: "First", Count: 1, By: "agent",
	}))
	g.Expect(out[1].Count).To(Equal(int32(2)))
	g.Expect(out[1].By).To(Equal("hub"))
	g.Expect(out[1].Object.String()).To(Equal("Cluster a"))
	g.Expect(out[2].Count).To(Equal(int32(5)))
	g.Expect(out[2].At).To(Equal(at(3)))
	g.Expect(out[2].Object.String()).To(Equal("Work karmada-es-a/web"))
	g.Expect(out[3].Reason).To(Equal("Fourth"))
}

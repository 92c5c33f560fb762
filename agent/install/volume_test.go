package install

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"fairlead.dev/agent/install/manifest"
	"fairlead.dev/common/contract"
)

func TestWhereAnAgentKeepsItsStateIfNobodySays(t *testing.T) {
	t.Parallel()
	class := func(name, standard string) client.Object {
		return &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{defaultClass: standard}}}
	}
	tests := map[string]struct {
		classes []client.Object
		err     error
		want    string
		wantWhy string
	}{
		"on a volume, if the cluster makes one by itself": {classes: []client.Object{class("slow", "false"), class("standard", "true")}, want: "claim"},
		"with the pod, if it makes none":                  {classes: []client.Object{class("slow", "false")}, want: "none", wantWhy: "no default StorageClass"},
		"with the pod, if there is no storage":            {want: "none", wantWhy: "no default StorageClass"},
		"with the pod, if it cannot be seen":              {err: errors.New("forbidden"), want: "none", wantWhy: "(forbidden)"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			funcs := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if tc.err != nil {
					return tc.err
				}
				return c.List(ctx, list, opts...)
			}}
			i := Installer{memberClient: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(tc.classes...).WithInterceptorFuncs(funcs).Build()}
			volume, why, err := i.StateVolume(t.Context())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(volume).To(Equal(tc.want))
			if tc.wantWhy == "" {
				g.Expect(why).To(BeEmpty())
				return
			}
			g.Expect(why).To(And(ContainSubstring(tc.wantWhy), ContainSubstring("--state-volume")))
		})
	}
}

func TestAnInstalledAgentKeepsItsVolume(t *testing.T) {
	t.Parallel()
	deployment := func(source corev1.VolumeSource) *appsv1.Deployment {
		out := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: contract.SystemNamespace, Name: manifest.Name}}
		out.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "join"}, {Name: "state", VolumeSource: source}}
		return out
	}
	installed := func(volume string) *appsv1.Deployment {
		objects, err := manifest.Objects(manifest.Options{Volume: volume})
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		for _, obj := range objects {
			if obj.GetKind() == "Deployment" {
				d := &appsv1.Deployment{}
				NewWithT(t).Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, d)).To(Succeed())
				return d
			}
		}
		return nil
	}
	forbidden := errors.New("forbidden")
	standard := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "standard", Annotations: map[string]string{defaultClass: "true"}}}
	tests := map[string]struct {
		deployment *appsv1.Deployment
		classes    []client.Object
		getErr     error
		want       string
		wantWhy    string
		wantErr    string
	}{
		"a directory, though the cluster makes volumes":   {deployment: installed("/srv/agent"), classes: []client.Object{standard}, want: "/srv/agent"},
		"a claim, though the cluster makes none any more": {deployment: installed("claim"), want: "claim"},
		"its pod, and it is said": {
			deployment: installed("none"), classes: []client.Object{standard}, want: "none", wantWhy: "--state-volume",
		},
		"nothing is guessed of another claim": {
			deployment: deployment(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "mine"}}),
			classes:    []client.Object{standard}, wantErr: "--state-volume",
		},
		"nothing is guessed of what cannot be read": {deployment: installed("claim"), getErr: forbidden, wantErr: "--state-volume"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			funcs := interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				if tc.getErr != nil {
					return tc.getErr
				}
				return c.Get(ctx, key, obj, opts...)
			}}
			i := Installer{memberClient: fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(append(tc.classes, tc.deployment)...).WithInterceptorFuncs(funcs).Build()}
			volume, why, err := i.StateVolume(t.Context())
			if tc.wantErr != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.wantErr)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(volume).To(Equal(tc.want))
			g.Expect(why).To(ContainSubstring(tc.wantWhy))
		})
	}
}

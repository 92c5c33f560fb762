package operate

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"fairlead.dev/common/contract"
)

func TestWhichRequestIsAccepted(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	request := func(cluster, name, member, token string) Request {
		return Request{Cluster: cluster, CSR: &certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, UID: types.UID("uid-of-" + name), CreationTimestamp: metav1.NewTime(asked),
				Annotations: map[string]string{contract.MemberIDAnnotation: member},
			},
			Spec: certificatesv1.CertificateSigningRequestSpec{Username: contract.BootstrapUserPrefix + token},
		}}
	}
	waiting := []Request{
		request("edge-1", "edge-1-a", "m", "aaaaaa"), request("edge-1", "edge-1-b", "m", "bbbbbb"), request("edge-2", "edge-2-a", "n", "aaaaaa"),
	}
	for name, c := range map[string]struct {
		cluster       string
		which         RequestFilter
		want, refused string
	}{
		"the only one":                    {cluster: "edge-2", want: "edge-2-a"},
		"the only one of its member":      {cluster: "edge-2", which: RequestFilter{Member: "n"}, want: "edge-2-a"},
		"one of several, by its name":     {cluster: "edge-1", which: RequestFilter{Request: "edge-1-a"}, want: "edge-1-a"},
		"one of several, by its UID":      {cluster: "edge-1", which: RequestFilter{UID: "uid-of-edge-1-a"}, want: "edge-1-a"},
		"nobody asks":                     {cluster: "edge-3", refused: "no member waits to join as cluster edge-3"},
		"the one that is meant is gone":   {cluster: "edge-1", which: RequestFilter{UID: "uid-of-edge-1-c"}, refused: "does not wait (any more)"},
		"that of another cluster":         {cluster: "edge-1", which: RequestFilter{Request: "edge-2-a"}, refused: "does not wait (any more)"},
		"several, which say the same id":  {cluster: "edge-1", which: RequestFilter{Member: "m"}, refused: "--request"},
		"several, and nothing is said of": {cluster: "edge-1", refused: "edge-1-a (made with token aaaaaa at 2026-01-02T03:04:05Z), edge-1-b (made with token bbbbbb at 2026-01-02T03:04:05Z)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := chooseRequest(waiting, c.cluster, c.which)
			if c.refused != "" {
				g.Expect(err).To(MatchError(ContainSubstring(c.refused)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.CSR.Name).To(Equal(c.want))
		})
	}
}

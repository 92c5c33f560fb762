package cli

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
)

func TestWhereTheEmbeddedAPIFindsTheHub(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		flags  []string
		shared bool
		off    bool
		port   int32
		wrong  string
	}{
		"a hub alone has the port that it is given":          {},
		"hubs on one etcd are found by each machine's API":   {shared: true, port: sharedPort},
		"whose APIs may go by a port, if they are of before": {shared: true, flags: []string{"--connect-bind-address=127.0.0.1:6445"}, port: 6445},
		"which is a number": {shared: true, flags: []string{"--connect-bind-address=127.0.0.1:https"}, wrong: "no port that is a number"},
		"it is turned off":  {shared: true, flags: []string{"--connect=false"}, off: true, port: sharedPort},
		"there is no Service but the one that the hub makes": {flags: []string{"--connect-service=a/b:1"}, wrong: "--connect-service is for --kubeconfig"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var f connectFlags
			fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
			f.add(fs)
			g.Expect(fs.Parse(tc.flags)).To(Succeed())
			err := f.complete(fs, true, tc.shared)
			if tc.wrong != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.wrong)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(f.enabled).To(Equal(!tc.off))
			g.Expect(f.place.Port).To(Equal(tc.port))
			if o := f.options("data"); tc.off {
				g.Expect(o).To(BeNil())
			} else {
				g.Expect(o.AddressFile).To(Equal("data/run/connect.address"))
			}
		})
	}
}

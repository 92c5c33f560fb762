package headers_test

import (
	"maps"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"fairlead.dev/common/line/headers"
)

func TestOperatorsSpeakForThemselvesOnly(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		sent, want http.Header
	}{
		"what a client sends reaches the member": {
			sent: http.Header{"Accept": {"application/json"}, "User-Agent": {"kubectl"}, "If-None-Match": {"x"}},
			want: http.Header{"Accept": {"application/json"}, "User-Agent": {"kubectl"}, "If-None-Match": {"x"}},
		},
		"credentials do not": {sent: http.Header{"Authorization": {"Bearer hub"}, "Cookie": {"a=b"}, "Proxy-Authorization": {"x"}}},
		"nobody says who they are": {sent: http.Header{
			"Impersonate-User": {"admin"}, "Impersonate-Group": {"system:masters"}, "Impersonate-Uid": {"1"}, "Impersonate-Extra-Scopes": {"x"},
			"X-Remote-User": {"admin"}, "X-Remote-Group": {"system:masters"}, "X-Remote-Extra-A": {"b"}, "X_Remote_User": {"admin"}, "impersonate-user": {"admin"},
		}},
		"nobody speaks for the hub":    {sent: http.Header{"Fairlead-User": {"admin"}, "Fairlead-Hop": {"1"}, "fairlead-group": {"x"}}},
		"nobody says whence they come": {sent: http.Header{"Forwarded": {"for=1.1.1.1"}, "X-Forwarded-For": {"1.1.1.1"}, "X-Forwarded-Host": {"a"}, "X-Real-Ip": {"1"}, "Via": {"x"}}},
		"the audit id travels":         {sent: http.Header{"Audit-Id": {"6d7c-1"}}, want: http.Header{"Audit-Id": {"6d7c-1"}}},
		"what is no audit id does not": {sent: http.Header{"Audit-Id": {"a b\tc"}}},
		"tokens among subprotocols stay": {
			sent: http.Header{"Sec-Websocket-Protocol": {"v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0", "v4.channel.k8s.io"}},
			want: http.Header{"Sec-Websocket-Protocol": {"v5.channel.k8s.io, v4.channel.k8s.io"}},
		},
		"one that is all there is, too": {sent: http.Header{"Sec-Websocket-Protocol": {"base64url.bearer.authorization.k8s.io.c2VjcmV0"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := http.Header{"Impersonate-User": {"fairlead:alice"}, "Impersonate-Group": {"fairlead:a", "fairlead:b"}}
			maps.Copy(want, tc.want)
			headers.ToMember(tc.sent, "fairlead:alice", []string{"fairlead:a", "fairlead:b"})
			NewWithT(t).Expect(tc.sent).To(Equal(want))
		})
	}
}

func TestTheMemberSpeaksForItselfOnly(t *testing.T) {
	t.Parallel()
	answer := http.Header{"Content-Type": {"application/json"}, "Fairlead-Status": {"101"}, "Set-Cookie": {"a=b"}, "Audit-Id": {"x"}}
	headers.FromMember(answer)
	NewWithT(t).Expect(answer).To(Equal(http.Header{"Content-Type": {"application/json"}, "Audit-Id": {"x"}}))
}

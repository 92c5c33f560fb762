package bootstrap

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"fairlead.dev/common/contract"
)

// SecretNamespace is the namespace of the tokens' Secrets.
const SecretNamespace = metav1.NamespaceSystem

// SecretName returns the name of the Secret of a token.
func SecretName(id string) string { return bootstrapapi.BootstrapTokenSecretPrefix + id }

// NewSecret returns the Secret that stores a token on the hub.
func NewSecret(t Token) *corev1.Secret {
	s := &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   SecretNamespace,
			Name:        SecretName(t.ID),
			Labels:      map[string]string{contract.SystemLabel: contract.LabelTrue},
			Annotations: map[string]string{},
		},
		Type: corev1.SecretTypeBootstrapToken,
		Data: map[string][]byte{
			bootstrapapi.BootstrapTokenIDKey:               []byte(t.ID),
			bootstrapapi.BootstrapTokenSecretKey:           []byte(t.Secret),
			bootstrapapi.BootstrapTokenUsageAuthentication: []byte("true"),
			bootstrapapi.BootstrapTokenUsageSigningKey:     []byte("true"),
			bootstrapapi.BootstrapTokenExtraGroupsKey:      []byte(contract.BootstrapGroup),
			bootstrapapi.BootstrapTokenDescriptionKey:      fmt.Appendf(nil, "Lets cluster %s join this hub.", t.Cluster),
		},
	}
	if !t.Expires.IsZero() {
		s.Data[bootstrapapi.BootstrapTokenExpirationKey] = []byte(t.Expires.UTC().Format(time.RFC3339))
	}
	annotate(s, contract.TokenClusterAnnotation, t.Cluster)
	annotate(s, contract.TokenMemberAnnotation, t.Member)
	annotate(s, contract.TokenCreatedByAnnotation, t.CreatedBy)
	if t.Manual {
		annotate(s, contract.TokenApprovalAnnotation, contract.ApprovalManual)
	}
	if t.MaxUses > 1 {
		annotate(s, contract.TokenMaxUsesAnnotation, strconv.Itoa(t.MaxUses))
	}
	if !t.Gives.empty() {
		annotate(s, contract.TokenGivesAnnotation, encode(t.Gives))
	}
	Record(s, t)
	return s
}

// Record stores in the Secret of a token how it was used.
func Record(s *corev1.Secret, t Token) {
	if len(t.Uses) > 0 {
		annotate(s, contract.TokenUsedAnnotation, encode(t.Uses))
	}
	if len(t.Accepted) > 0 {
		annotate(s, contract.TokenAcceptedAnnotation, encode(t.Accepted))
	}
}

// UseUp restricts the holder of a used-up token to fetching the certificate.
func UseUp(s *corev1.Secret) {
	s.Data[bootstrapapi.BootstrapTokenExtraGroupsKey] = []byte(contract.UsedTokenGroup)
}

// Close disables a token. Its Secret still records who joined with it.
func Close(s *corev1.Secret) {
	s.Data[bootstrapapi.BootstrapTokenUsageAuthentication] = []byte("false")
	s.Data[bootstrapapi.BootstrapTokenUsageSigningKey] = []byte("false")
}

// IsClosed returns whether a token is disabled.
func IsClosed(s *corev1.Secret) bool {
	return string(s.Data[bootstrapapi.BootstrapTokenUsageAuthentication]) != "true"
}

func annotate(s *corev1.Secret, key, value string) {
	if value != "" {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, key, value)
	}
}

// encode encodes a value of strings and times, which cannot fail.
func encode(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // a bug in this package
	}
	return string(raw)
}

// FromSecret reads a token from its Secret. It fails if the Secret is not that of a bootstrap token, or is damaged,
// but not for a token that has expired, is used up or names no cluster.
func FromSecret(s *corev1.Secret) (Token, error) {
	fail := func(format string, args ...any) (Token, error) {
		return Token{}, fmt.Errorf("secret %q is not a usable bootstrap token: "+format, append([]any{s.Name}, args...)...)
	}
	if s.Type != corev1.SecretTypeBootstrapToken {
		return fail("its type is %q", s.Type)
	}
	t := Token{
		ID:        string(s.Data[bootstrapapi.BootstrapTokenIDKey]),
		Secret:    string(s.Data[bootstrapapi.BootstrapTokenSecretKey]),
		Cluster:   s.Annotations[contract.TokenClusterAnnotation],
		Member:    s.Annotations[contract.TokenMemberAnnotation],
		CreatedBy: s.Annotations[contract.TokenCreatedByAnnotation],
		Manual:    s.Annotations[contract.TokenApprovalAnnotation] == contract.ApprovalManual,
		Closed:    s.Annotations[contract.TokenClosedAnnotation],
	}
	if !validID(t.ID) || s.Name != SecretName(t.ID) {
		return fail("%s does not fit its name", bootstrapapi.BootstrapTokenIDKey)
	}
	if !validSecret(t.Secret) {
		return fail("%s is malformed", bootstrapapi.BootstrapTokenSecretKey)
	}
	var err error
	if t.Expires, err = optionalTime(string(s.Data[bootstrapapi.BootstrapTokenExpirationKey])); err != nil {
		return fail("%s: %w", bootstrapapi.BootstrapTokenExpirationKey, err)
	}
	t.MaxUses = 1
	if raw := s.Annotations[contract.TokenMaxUsesAnnotation]; raw != "" {
		if t.MaxUses, err = strconv.Atoi(raw); err != nil || t.MaxUses < 1 {
			return fail("annotation %s is %q, which is no positive number", contract.TokenMaxUsesAnnotation, raw)
		}
	}
	for key, into := range map[string]any{
		contract.TokenUsedAnnotation: &t.Uses, contract.TokenAcceptedAnnotation: &t.Accepted, contract.TokenGivesAnnotation: &t.Gives,
	} {
		if raw := s.Annotations[key]; raw != "" {
			if err := json.Unmarshal([]byte(raw), into); err != nil {
				return fail("annotation %s: %w", key, err)
			}
		}
	}
	return t, nil
}

func optionalTime(s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time of RFC 3339", s)
	}
	return t.UTC(), nil
}

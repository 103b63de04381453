//! The generator that binds a Kubernetes ServiceAccount to one of a cloud. Only Google's is known to it.

use firstpass_yaml::{Node, NodeKind, Scalar};

use crate::Error;
use crate::file::read::{Fields, Mismatch, Read, Rules};

/// What its configuration says.
#[derive(Default)]
pub(crate) struct IamPolicy {
    cloud: String,
    kubernetes: Account,
    service: Account,
}

#[derive(Default)]
struct Account {
    name: String,
    namespace: String,
    project: String,
}

impl Read for IamPolicy {
    fn read(node: &Node, rules: Rules) -> Result<IamPolicy, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        Ok(IamPolicy {
            cloud: fields.take("cloud")?,
            kubernetes: fields.take("kubernetesService")?,
            service: fields.take("serviceAccount")?,
        })
    }
}

impl Read for Account {
    fn read(node: &Node, rules: Rules) -> Result<Account, Mismatch> {
        let mut fields = Fields::of(node, rules)?;
        Ok(Account {
            name: fields.take("name")?,
            namespace: fields.take("namespace")?,
            project: fields.take("projectId")?,
        })
    }
}

impl IamPolicy {
    /// The ServiceAccount with the annotation that binds it.
    pub(crate) fn generate(&self) -> Result<Node, Error> {
        if self.cloud != "gke" {
            return Err(
                Error::new(format!("cloud provider {} not supported yet", self.cloud))
                    .help("only `gke` is supported"),
            );
        }
        let text = |text: &str| Node::new(NodeKind::Scalar(Scalar::plain(text)));
        let account = format!(
            "{}@{}.iam.gserviceaccount.com",
            self.service.name, self.service.project
        );
        let mut metadata = vec![
            (
                Node::string("annotations"),
                mapping([(Node::string("iam.gke.io/gcp-service-account"), text(&account))]),
            ),
            (Node::string("name"), text(&self.kubernetes.name)),
        ];
        if !self.kubernetes.namespace.is_empty() {
            metadata.push((Node::string("namespace"), text(&self.kubernetes.namespace)));
        }
        Ok(mapping([
            (Node::string("apiVersion"), Node::string("v1")),
            (Node::string("kind"), Node::string("ServiceAccount")),
            (Node::string("metadata"), mapping(metadata)),
        ]))
    }
}

fn mapping(pairs: impl IntoIterator<Item = (Node, Node)>) -> Node {
    Node::new(NodeKind::Map(pairs.into_iter().collect()))
}

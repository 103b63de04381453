//! `images`.

use firstpass_yaml::{Node, NodeKind};
use regex::Regex;

use super::{By, Fields, Transform};
use crate::Error;
use crate::config::FieldSpecs;
use crate::file::Image;
use crate::resmap::{ResMap, transformed};
use crate::scalar::{set_scalar, text_of, wrong_shape};

/// How deep objects are searched for containers.
const DEPTH_MAX: usize = 1_000;

/// Changes name, tag or digest of an image.
pub(crate) struct ImageTag {
    image: Image,
    pattern: Regex,
    fields: Fields,
}

impl ImageTag {
    /// Prepares an entry of `images`.
    pub(crate) fn new(image: Image, specs: &FieldSpecs) -> Result<ImageTag, Error> {
        let pattern = format!(
            "^{}(:[a-zA-Z0-9_.{{}}-]*)?(@sha256:[a-zA-Z0-9_.{{}}-]*)?$",
            image.name
        );
        let pattern = Regex::new(&pattern).map_err(|_| {
            Error::new(format!("the image name `{}` is not a valid regular expression", image.name))
                .help("kustomize takes image names for regular expressions: put a backslash before special characters")
        })?;
        Ok(ImageTag {
            image,
            pattern,
            fields: Fields::new(&specs.0),
        })
    }

    fn update(&self, node: &mut Node) -> Result<bool, Error> {
        if !node.is_null() && node.as_scalar().is_none() {
            return Err(wrong_shape("ScalarNode", node));
        }
        let old = text_of(node);
        if !self.pattern.is_match(old) {
            return Ok(false);
        }
        let new = renamed(old, &self.image);
        if new == old {
            return Ok(false);
        }
        set_scalar(node, &new, None)?;
        Ok(true)
    }

    /// Finds images in whatever is called `containers` or `initContainers`, anywhere.
    fn search(&self, node: &mut Node, depth: usize) -> Result<bool, Error> {
        let depth = depth
            .checked_sub(1)
            .ok_or_else(|| Error::new("the object is nested too deep"))?;
        let mut changed = false;
        match &mut node.kind {
            NodeKind::Scalar(_) => {}
            NodeKind::Seq(items) => {
                for item in items {
                    changed |= self.search(item, depth)?;
                }
            }
            NodeKind::Map(map) => {
                for (key, value) in map.iter_mut() {
                    changed |= self.search(value, depth)?;
                    if matches!(key.as_text(), Some("containers" | "initContainers")) {
                        changed |= self.update_all(value)?;
                    }
                }
            }
        }
        Ok(changed)
    }

    fn update_all(&self, containers: &mut Node) -> Result<bool, Error> {
        let NodeKind::Seq(containers) = &mut containers.kind else {
            return Ok(false);
        };
        let mut changed = false;
        for container in containers.iter_mut().filter(|container| !container.is_null()) {
            let NodeKind::Map(map) = &mut container.kind else {
                return Err(wrong_shape("MappingNode", container));
            };
            if let Some(image) = map.get_mut("image") {
                changed |= self.update(image)?;
            }
        }
        Ok(changed)
    }
}

impl Transform for ImageTag {
    fn apply(&self, resources: &mut ResMap, by: &By<'_>) -> Result<(), Error> {
        for resource in resources.items_mut() {
            if resource.kind() == "CustomResourceDefinition" {
                continue;
            }
            let mut changed = self.search(resource.fields_mut(), DEPTH_MAX)?;
            changed |= self.fields.visit(resource, None, &mut |node| self.update(node))?;
            if changed {
                resource.shaped_by(transformed(by.file, "images"));
            }
        }
        Ok(())
    }
}

/// The image that takes the place of another. A new tag or digest replaces both the old tag and the old digest.
fn renamed(old: &str, image: &Image) -> String {
    let (name, mut tag, mut digest) = split(old);
    let mut new = if image.new_name.is_empty() {
        name.to_owned()
    } else {
        image.new_name.clone()
    };
    let suffixed;
    match (image.new_tag.as_str(), image.digest.as_str()) {
        ("", "") if !image.tag_suffix.is_empty() => {
            suffixed = format!("{tag}{}", image.tag_suffix);
            (tag, digest) = (&suffixed, "");
        }
        ("", "") => {}
        (new_tag, new_digest) => (tag, digest) = (new_tag, new_digest),
    }
    if !tag.is_empty() {
        new.push(':');
        new.push_str(tag);
    }
    if !digest.is_empty() {
        new.push('@');
        new.push_str(digest);
    }
    new
}

/// Name, tag and digest of an image; a colon before the first slash belongs to the port of a registry.
fn split(image: &str) -> (&str, &str, &str) {
    let path = image.find('/').unwrap_or(0);
    let at = image[path..].find('@').map(|at| at + path);
    let colon = image[path..].find(':').map(|colon| colon + path);
    match (colon, at) {
        (None, None) => (image, "", ""),
        (None, Some(at)) => (&image[..at], "", &image[at + 1..]),
        (Some(colon), Some(at)) if at < colon => (&image[..at], "", &image[at + 1..]),
        (Some(colon), Some(at)) => (&image[..colon], &image[colon + 1..at], &image[at + 1..]),
        (Some(colon), None) => (&image[..colon], &image[colon + 1..], ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_split() {
        for (image, parts) in [
            ("nginx", ("nginx", "", "")),
            ("nginx:1.2", ("nginx", "1.2", "")),
            ("localhost:5000/nginx", ("localhost:5000/nginx", "", "")),
            (
                "localhost:5000/nginx:1@sha256:ab",
                ("localhost:5000/nginx", "1", "sha256:ab"),
            ),
            ("nginx@sha256:ab", ("nginx", "", "sha256:ab")),
        ] {
            assert_eq!(split(image), parts, "{image}");
        }
    }

    #[test]
    fn tag_and_digest_replace_each_other() {
        let image = |new_tag: &str, digest: &str, tag_suffix: &str| Image {
            name: "nginx".to_owned(),
            new_tag: new_tag.to_owned(),
            digest: digest.to_owned(),
            tag_suffix: tag_suffix.to_owned(),
            ..Image::default()
        };
        assert_eq!(renamed("nginx:1@sha256:ab", &image("2", "", "")), "nginx:2");
        assert_eq!(renamed("nginx:1", &image("", "sha256:cd", "")), "nginx@sha256:cd");
        assert_eq!(
            renamed("nginx:1", &image("2", "sha256:cd", "")),
            "nginx:2@sha256:cd"
        );
        assert_eq!(renamed("nginx:1@sha256:ab", &image("", "", "-x")), "nginx:1-x");
        assert_eq!(
            renamed("nginx:1@sha256:ab", &image("", "", "")),
            "nginx:1@sha256:ab"
        );
    }

    #[test]
    fn a_name_that_is_no_pattern_is_an_error() {
        let image = Image {
            name: "nginx(".to_owned(),
            ..Image::default()
        };
        assert!(ImageTag::new(image, &FieldSpecs::default()).is_err());
    }
}
